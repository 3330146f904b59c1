"""A viewer that travels in time: pages of a store, for the browser of the user of this machine.

    browser ─► security ─► app ─► pages ─► a template

app         which address shows what            security, keys  who may look
pages       a session, its windows and pieces   readers, desk   a store for each request
moment      what happened beside what was seen  rows, strip     its rows, and all of it as one line
comparing   two moments                         cutting         what is huge, cut to a page
searching   what was said                       history         requests, replies, compactions
following   what is recorded, as it comes       chart, prices   what requests took
listing     which sessions                      figures         and session_figures: tables
actions     changes, each asked first           rendering       templates, styles, scripts
running     the server                          state           where it is found

The fragments and the style are those of the export: ``foldlog.cli.formats.html``. Pages are made
here; htmx puts parts of them into the page that is open. Nothing is loaded from elsewhere.
"""
