() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const parse = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const over = (top, ground) => [0, 1, 2].map((i) => (top[i] * top[3] + ground[i] * (255 - top[3])) / 255);
  const light = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    const layers = [];
    for (let up = element; up; up = up.parentElement) layers.push(parse(getComputedStyle(up).backgroundColor));
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = new Set();
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    if (element.closest("s, .tip, svg, dialog:not([open]), .shown, option")) continue;
    let opacity = 1;
    for (let up = element; up; up = up.parentElement) opacity *= Number(getComputedStyle(up).opacity);
    const below = ground(element), text = parse(getComputedStyle(element).color);
    const seen = over([...text.slice(0, 3), text[3] * opacity], below);
    const [dark, bright] = [light(seen), light(below)].sort((a, b) => a - b);
    if ((bright + 0.05) / (dark + 0.05) < 4.45) low.add(`${element.className || element.tagName}: ${walker.currentNode.data.trim().slice(0, 30)} ${((bright + 0.05) / (dark + 0.05)).toFixed(2)}`);
  }
  return [...low];
}
