// Checks the pages of the book in a browser, after `cargo xtask book`:
//
//     npm install playwright-core && node docs/book/check.mjs [FOLDER] [SCREENSHOTS]
//
// No page is wider than its window at two widths, no script fails, every picture loads, and the search finds words.
// CHROMIUM names the browser, /usr/bin/chromium by default. What `cargo xtask book` checks, links, is not repeated.
import { createServer } from "node:http";
import { mkdir, readFile, readdir } from "node:fs/promises";
import { extname, join, resolve } from "node:path";
import { createRequire } from "node:module";

// Also finds packages of the folder in which it runs.
const require = createRequire(join(process.cwd(), "x.js"));
const { chromium } = require("playwright-core");

const folder = resolve(process.argv[2] ?? "target/book");
const screenshots = process.argv[3];
const WIDTHS = [1280, 400];
const SEARCHES = { "stream_parallel": "regions", "QUADRANTS_HAZARDS": "hazards", "NVRTC": "installation", "ticket": "atomics" };
const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };

const server = createServer(async (request, response) => {
  const path = join(folder, new URL(request.url, "http://x").pathname);
  try {
    const body = await readFile(path);
    response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));
const root = `http://127.0.0.1:${server.address().port}`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const problems = [];
const pages = (await readdir(folder)).filter((name) => name.endsWith(".html") && name !== "toc.html").sort();
for (const width of WIDTHS) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  const report = (name, what) => problems.push(`${name} at ${width}: ${what}`);
  let current = "";
  page.on("pageerror", (error) => report(current, error.message));
  page.on("response", (response) => response.status() >= 400 && report(current, `${response.status()} ${response.url()}`));
  for (const name of pages) {
    current = name;
    await page.goto(`${root}/${name}`, { waitUntil: "load" });
    const found = await page.evaluate(() => {
      const width = document.documentElement.clientWidth;
      // Tables and code may scroll in their own boxes, which are inside the page's text.
      const isInBox = (node) => {
        for (let at = node.parentElement; at && at.tagName !== "MAIN"; at = at.parentElement) {
          const { right } = at.getBoundingClientRect();
          if (/auto|scroll/.test(getComputedStyle(at).overflowX) && right <= width + 1) return true;
        }
        return false;
      };
      const wide = [...document.querySelectorAll("main *")]
        .filter((node) => node.getBoundingClientRect().right > width + 1 && !isInBox(node))
        .map((node) => `${node.tagName} ${node.textContent.slice(0, 60)}`);
      const pictures = [...document.images].filter((image) => !image.complete || image.naturalWidth === 0).map((image) => image.src);
      return { isWide: document.documentElement.scrollWidth > width, wide, pictures };
    });
    if (found.isWide || found.wide.length) report(name, `is wider than the window: ${found.wide[0] ?? ""}`);
    found.pictures.forEach((source) => report(name, `picture ${source} does not load`));
    if (screenshots) {
      await mkdir(screenshots, { recursive: true });
      await page.screenshot({ path: join(screenshots, `${name.replace(".html", "")}-${width}.png`) });
    }
  }
  for (const [word, expected] of Object.entries(SEARCHES)) {
    current = `search for ${word}`;
    await page.goto(`${root}/introduction.html?search=${word}`, { waitUntil: "load" });
    const result = `#mdbook-searchresults a[href*="${expected}.html"], #searchresults a[href*="${expected}.html"]`;
    await page.waitForSelector(result, { timeout: 5000 }).catch(() => report(current, `does not find ${expected}`));
  }
  if (screenshots) await page.screenshot({ path: join(screenshots, `search-${width}.png`) });
  await page.close();
}
await browser.close();
server.close();
problems.forEach((problem) => console.log(problem));
console.log(`${pages.length} pages at ${WIDTHS.length} widths, ${problems.length} problems`);
process.exit(problems.length ? 1 : 0);
