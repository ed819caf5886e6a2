// What a reader could not read in the outputs of a page. Runs in the page; gives sentences.
// Contrast is that of WCAG 2, computed from the colours as a browser paints them one over another.
async () => {
  const LEAST_CONTRAST = 4.5;
  const TOLERANCE = 1; // CSS pixels that rounding may take
  const problems = [];

  // ── colours ─────────────────────────────────────────────────────────────────────────────────

  const channels = (css) => {
    const numbers = css.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/);
    if (!numbers) throw new Error(`a colour of an unknown form: ${css}`);
    const [red, green, blue, alpha = 1] = numbers.slice(1).filter((n) => n !== undefined).map(Number);
    return [[red, green, blue], alpha];
  };
  const over = (top, share, below) => top.map((value, i) => value * share + below[i] * (1 - share));

  const luminance = (colour) => {
    const [r, g, b] = colour.map((value) => {
      const part = value / 255;
      return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };

  // The text's colour and the ground under it: every ancestor's ground over what is behind it, and
  // an ancestor's opacity on all that it contains.
  const painted = (element) => {
    const chain = [];
    for (let e = element; e; e = e.parentElement) chain.unshift(e);
    const paint = (level, behind) => {
      const style = getComputedStyle(chain[level]);
      const ground = over(...channels(style.backgroundColor), behind);
      const inside =
        level + 1 < chain.length
          ? paint(level + 1, ground)
          : { ink: over(...channels(style.color), ground), ground };
      const share = Number(style.opacity);
      return { ink: over(inside.ink, share, behind), ground: over(inside.ground, share, behind) };
    };
    return paint(0, [255, 255, 255]);
  };

  // ── what is checked ─────────────────────────────────────────────────────────────────────────

  const isShown = (element) => element.checkVisibility({ visibilityProperty: true });

  const textNodes = (root) => {
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    while (walker.nextNode()) found.push(walker.currentNode);
    return found.filter((node) => node.data.trim() && isShown(node.parentElement));
  };

  const checkText = (node, output) => {
    const { ink, ground } = painted(node.parentElement);
    const ratio = contrast(ink, ground);
    const quoted = JSON.stringify(node.data.trim().slice(0, 60));
    if (ratio < LEAST_CONTRAST) problems.push(`${quoted} has a contrast of ${ratio.toFixed(2)}`);
    const range = document.createRange();
    range.selectNodeContents(node);
    const [text, frame] = [range.getBoundingClientRect(), output.getBoundingClientRect()];
    if (!text.width || !text.height) problems.push(`${quoted} takes no room`);
    if (text.left < frame.left - TOLERANCE || text.right > frame.right + TOLERANCE)
      problems.push(`${quoted} is cut at the side`);
  };

  const checkImage = (image) => {
    if (!image.complete || !image.naturalWidth) problems.push(`an image did not load: ${image.alt}`);
    if (!image.alt) problems.push("an image has no description");
  };

  const checkWidth = (output) => {
    for (let e = output; e; e = e.parentElement)
      if (e.scrollWidth > e.clientWidth + TOLERANCE && getComputedStyle(e).display !== "inline")
        problems.push(`${e.className || e.tagName} scrolls sideways: ${e.scrollWidth} px`);
  };

  // What was sent to the page is painted two frames later, and its pictures are decoded.
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  await Promise.allSettled([...document.images].map((image) => image.decode()));

  const outputs = [...document.querySelectorAll(".jp-OutputArea-output")];
  for (const output of outputs) {
    textNodes(output).forEach((node) => checkText(node, output));
    output.querySelectorAll("img").forEach(checkImage);
    checkWidth(output);
    const kind = output.dataset.mimeType || "";
    if (kind.endsWith(".error") || kind.endsWith(".stderr")) problems.push(output.innerText);
    if (output.innerText.includes("Error displaying")) problems.push(output.innerText);
  }
  const images = outputs.flatMap((output) => [...output.querySelectorAll("img")]).filter(isShown);
  return {
    problems: [...new Set(problems)],
    images: images.length,
    texts: outputs.map((output) => textNodes(output).map((node) => node.data).join("")),
  };
}
