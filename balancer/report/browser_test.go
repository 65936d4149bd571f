//go:build unix

package report_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"shardsh/balancer/report"
)

var shots = flag.String("shots", "", "write pictures of the pages into this directory")

// visible counts the rows of a table that are in sight.
func visible(table string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#%s tbody tr")].filter(r => r.offsetHeight > 0).length`, table)
}

// first is the text of the first cell of the first row in sight.
func first(table string) string {
	return fmt.Sprintf(
		`[...document.querySelectorAll("#%s tbody tr")].find(r => r.offsetHeight > 0).cells[0].textContent.trim()`, table)
}

// A user clicks through the page of a small cluster.
func TestPageInBrowser(t *testing.T) {
	b := startBrowser(t)
	b.Width(1280)
	b.Open(page(t, newFullOverview(shop(t).snapshot())))
	b.Is("document.title", `"mongodb://host:27017/: cluster report"`)
	b.Is(`document.querySelectorAll("section h2").length`, "8")

	b.Click(`nav a[href="#plan"]`)
	b.Is("location.hash", `"#plan"`)
	b.Is("window.scrollY > 200", "true")

	// Worst first; by data, most first; by data, least first; by name with the keyboard.
	b.Is(first("shard-list"), `"a"`)
	b.Is(first("collection-list"), `"shop.orders"`)
	b.Click("#collection-list th:nth-child(4)")
	b.Is(first("collection-list"), `"shop.held"`)
	b.Click("#collection-list th:nth-child(4)")
	b.Is(first("collection-list"), `"shop.even"`)
	b.Is(`document.querySelector("#collection-list th:nth-child(4)").getAttribute("aria-sort")`, `"ascending"`)
	b.Eval(`document.querySelector("#collection-list th").focus()`+" ?? 0", new(int))
	b.Press("Enter")
	b.Is(`[...document.querySelectorAll("#collection-list tbody tr")].map(r => r.cells[0].textContent.trim())`,
		`["shop.even","shop.held","shop.orders"]`)

	b.Click(`.tools[data-for="collection-list"] input`)
	b.Type("disabled HELD")
	b.Is(visible("collection-list"), "1")
	b.Is(first("collection-list"), `"shop.held"`)

	b.Is(`document.querySelector("#map details:nth-of-type(2)").open`, "false")
	b.Click("#map details:nth-of-type(2) summary")
	b.Is(`document.querySelector("#map details:nth-of-type(2)").open`, "true")
	b.Is(`document.querySelector("#map details:nth-of-type(2) svg").getBoundingClientRect().height > 20`, "true")
	b.Click("#history details summary")
	b.Is(visible("event-list"), "7")
	b.Click("#plan details summary")
	b.Is(visible("step-list")+" > 0", "true")

	if len(b.Troubles) > 0 {
		t.Errorf("trouble on the page: %s", b.Troubles)
	}
	for _, url := range b.Requests {
		if !regexp.MustCompile(`^file://.*/page\.html$`).MatchString(url) {
			t.Errorf("the page asked for %s", url)
		}
	}
}

// Of a thousand collections the worst twenty are in sight, and all on a click.
func TestLongPageInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	b := startBrowser(t)
	b.Width(1280)
	b.Open(page(t, report.NewOverview(crowd(t, 100, 1000))))
	b.Is(visible("collection-list"), "20")
	b.Is(visible("shard-list"), "20")
	b.Is(first("collection-list"), `"app.c0999"`)
	b.Click(`.tools[data-for="collection-list"] button`)
	b.Is(visible("collection-list"), "1000")
	b.Click(`.tools[data-for="collection-list"] button`)
	b.Is(visible("collection-list"), "20")
	b.Click(`.tools[data-for="collection-list"] input`)
	b.Type("c05")
	b.Is(visible("collection-list"), "20") // of a hundred
	b.Is(`document.querySelector('.tools[data-for="collection-list"] span').textContent`, `"20 of 1000"`)
	b.Type("77")
	b.Is(visible("collection-list"), "1")
	b.Is(first("collection-list"), `"app.c0577"`)
	// A sorted list has other rows in sight.
	b.Click("#shard-list th")
	b.Is(first("shard-list"), `"s000"`)
	b.Click("#shard-list th")
	b.Is(first("shard-list"), `"s099"`)
	b.Is(visible("shard-list"), "20")
	if len(b.Troubles) > 0 {
		t.Errorf("trouble on the page: %s", b.Troubles)
	}
}

// Names that want to be more than text are text in the browser, too.
func TestPageEscapesNamesInBrowser(t *testing.T) {
	b := startBrowser(t)
	b.Open(page(t, newFullOverview(hostileWorld(t).snapshot())))
	b.Is("window.hit", "undefined")
	b.Is(`document.scripts.length`, "1")
	b.Is(`document.querySelectorAll("img, iframe, link, object, embed, svg svg, b b").length`, "0")
	b.Is(`document.querySelectorAll("section").length`, "8")
	for _, name := range hostile {
		b.Is(fmt.Sprintf(`[...document.querySelectorAll("#collection-list td:first-child")].some(
			c => c.textContent.trim() === "db." + %q)`, name), "true")
	}
	if len(b.Troubles) > 0 {
		t.Errorf("trouble on the page: %s", b.Troubles)
	}
}

// contrast returns the texts that are hard to read: of less contrast with what is
// behind them than 4.5 to 1, as the guidelines for accessible content have it.
const contrast = `(() => {
	const parse = c => c.match(/[\d.]+/g).map(Number);
	const linear = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
	const light = c => { const [r, g, b] = parse(c).map(linear);
		return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const behind = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
		if (parse(c)[3] !== 0) return c; } return "rgb(255, 255, 255)"; };
	const bad = new Set();
	for (const e of document.querySelectorAll("body *")) {
		if (!e.offsetHeight || ![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())) continue;
		const [a, b] = [light(getComputedStyle(e).color), light(behind(e))].sort((x, y) => y - x);
		if ((a + 0.05) / (b + 0.05) < 4.5) bad.add(e.tagName + ": " + e.textContent.trim().slice(0, 40));
	}
	return [...bad];
})()`

// smallTexts counts the labels of drawings that are lower than 11 pixels, line and all.
const smallTexts = `[...document.querySelectorAll("svg text")].filter(e => {
	const h = e.getBoundingClientRect().height; return h > 0 && h < 11; }).length`

// Light and dark, wide and narrow, on paper: everything can be read, and nothing
// is wider than the window.
func TestPageLooksInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	b := startBrowser(t)
	for name, o := range map[string]*report.Overview{
		"3":   heated(t, newFullOverview(shop(t).snapshot())),
		"100": heated(t, newFullOverview(crowd(t, 100, 60))),
	} {
		b.Open(page(t, o))
		b.Eval(`document.querySelectorAll("details").forEach(d => d.open = true) ?? 0`, new(int))
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int{1280, 900, 420} {
				b.Width(width)
				b.Media(scheme, "screen")
				dark := `parseInt(getComputedStyle(document.body).backgroundColor.slice(4)) < 128`
				b.Is(dark, fmt.Sprint(scheme == "dark"))
				b.Is(contrast, "[]")
				b.Is("document.documentElement.scrollWidth <= innerWidth", "true")
				b.Is(smallTexts, "0")
				if *shots != "" {
					b.Shot(filepath.Join(*shots, fmt.Sprintf("%s-%s-%d.png", name, scheme, width)))
				}
			}
		}
		b.Media("dark", "print")
		b.Is(`getComputedStyle(document.body).backgroundColor`, `"rgb(255, 255, 255)"`)
		b.Is(`[...document.querySelectorAll("nav, .tools")].every(e => e.offsetHeight === 0)`, "true")
		b.Is(contrast, "[]")
		b.Media("light", "")
		pdf := b.Print()
		pages := bytes.Count(pdf, []byte("/Type /Page\n"))
		if !bytes.HasPrefix(pdf, []byte("%PDF")) || pages < 1 || pages > 20 {
			t.Errorf("%s shards: %d pages on paper", name, pages)
		}
		if *shots != "" {
			if err := os.WriteFile(filepath.Join(*shots, name+".pdf"), pdf, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}
