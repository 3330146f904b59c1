from tests.server.fixtures import api as api
