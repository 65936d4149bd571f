package report_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
	"shardsh/balancer/report"
)

// All numbers of the overview are on the page.
func TestPage(t *testing.T) {
	o := newFullOverview(shop(t).snapshot())
	text := page(t, o)
	for _, want := range []string{
		"<h1>mongodb://host:27017/</h1>", "MongoDB 8.0.10", "2026-11-20 12:00:00 UTC",
		"<b>" + humanize.Bytes(o.Totals.Bytes) + "</b> in 2,304,900 documents", "<b>9</b> chunks, 1 jumbo",
		"3</b> sharded collections, 2 not balanced", "<b>2</b> moves in 24 h, 2 failed", "10 MiB</b> of orphans",
		"no space left", "shop.orders is not balanced", "sh.enableBalancing(&#34;shop.held&#34;)",
		"In the last 10 minutes 1 move, 102.39 KiB/s", "about 16s",
		"boom", "<h3>Balanced</h3>", "moves with", "Before and after",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
	if len(o.Maps) != 3 || strings.Count(text, "<details") < 3 || len(o.Forecasts) != 1 || o.Plan == nil {
		t.Errorf("%d maps, %d forecasts, plan %v", len(o.Maps), len(o.Forecasts), o.Plan)
	}
}

// A shard's volume is on the page where it is known, and in numbers.
func TestPageShowsVolumes(t *testing.T) {
	w := shop(t)
	w.Shards[0].Disk = catalog.Disk{Total: 200 * mib, Used: 190 * mib}
	o := newFullOverview(w.snapshot())
	if text := page(t, o); !strings.Contains(text, "% of 200 MiB") {
		t.Error("no volume on the page")
	}
	want := report.Disk{Total: 200 * mib, Used: 190 * mib, Share: 0.95}
	for _, s := range o.Shards {
		if known := s.ID == "a"; known != (s.Disk != nil) || known && *s.Disk != want {
			t.Errorf("%s: %+v", s.ID, s.Disk)
		}
	}
}

func TestPageOfAHealthyCluster(t *testing.T) {
	w := newWorld(t, "a")
	text := page(t, newFullOverview(w.snapshot()))
	for _, want := range []string{
		"Nothing is wrong.", `class="verdict fine"`, "has nothing left to do", "No orphans are known.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q on the page", want)
		}
	}
}

// The page loads nothing: its policy allows the style and the script that are in
// it, and nothing else.
func TestPageIsAlone(t *testing.T) {
	text := page(t, newFullOverview(shop(t).snapshot()))
	policy := regexp.MustCompile(`http-equiv="Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(text)
	if policy == nil {
		t.Fatal("no policy")
	}
	if !strings.HasPrefix(policy[1], "default-src &#39;none&#39;; ") || strings.Contains(policy[1], "unsafe") {
		t.Errorf("policy %s", policy[1])
	}
	for _, tag := range []string{"style", "script"} {
		inside := regexp.MustCompile(`(?s)<`+tag+`>(.*?)</`+tag+`>`).FindAllStringSubmatch(text, -1)
		if len(inside) != 1 {
			t.Fatalf("%d of %s", len(inside), tag)
		}
		sum := sha256.Sum256([]byte(inside[0][1]))
		// The template writes a + in an attribute as &#43;.
		hash := strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")
		if want := tag + "-src &#39;sha256-" + hash; !strings.Contains(policy[1], want) {
			t.Errorf("policy %s lacks %s", policy[1], want)
		}
	}
	for _, way := range []string{" src=", " style=", "url(", "@import", "<link", "<iframe", "<img", "javascript:", " on"} {
		if regexp.MustCompile(`<[^>]*` + regexp.QuoteMeta(way)).MatchString(markup(text)) {
			t.Errorf("the page has %q", way)
		}
	}
}

// markup is a page without its script and its style.
func markup(text string) string {
	return regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>`).ReplaceAllString(text, "")
}

// hostile are names that want to be more than text.
var hostile = []string{
	`</script><script>window.hit=1</script>`, `"><img src=x onerror=window.hit=1>`, `'/><svg onload=window.hit=1>`,
	`</title><b>`, `{{.Script}}`, `</style><style>body{display:none}`, `<!--`, `]]>`, `&lt;b&gt;`,
	`javascript:window.hit=1`,
}

// hostileWorld has such a name wherever a cluster has one.
func hostileWorld(t testing.TB) *world {
	w := newWorld(t, "a")
	for i, text := range hostile {
		id := catalog.ShardID(text)
		w.Shards = append(w.Shards, catalog.ShardState{
			Shard: catalog.Shard{ID: id, Host: text, Zones: []string{text}, State: 1, Draining: i == 0}, Unreachable: text,
		})
		ns := "db." + text
		w.collection(ns, []string{string(id), "!a", "a"}, map[catalog.ShardID]catalog.ShardData{id: has(10), "a": has(500)})
		w.move(time.Hour, ns, text, "a", 1, mib, 1, "")
		w.move(time.Minute, ns, text, "a", 1, mib, 1, text)
		w.Deletions = append(w.Deletions, catalog.RangeDeletion{Shard: id, Namespace: ns, Orphans: 5})
		w.Reshardings = append(w.Reshardings, catalog.ActiveResharding{Namespace: ns, Kind: text, State: text})
		w.Source.Gaps = append(w.Source.Gaps, catalog.Gap{What: text, Shard: id, Namespace: ns, Reason: text})
	}
	w.Source.Name, w.Version = hostile[0], hostile[1]
	w.Settings.UnknownMode, w.SettingsProblem = hostile[1], hostile[1]
	return w
}

// A name is text on the page, whatever it looks like: all markup is that of the
// page, which has as much of it for harmless names.
func TestPageEscapesNames(t *testing.T) {
	text := page(t, newFullOverview(hostileWorld(t).snapshot()))
	if n := strings.Count(text, "<script"); n != 1 {
		t.Errorf("%d scripts", n)
	}
	rest := markup(text)
	own := "html head meta title style body header h1 h2 h3 p time b nav a main ul li details summary section table " +
		"thead tbody tr th td i span svg rect line text code footer div"
	for _, tag := range regexp.MustCompile(`<[/]?([a-zA-Z!?][^\s>/]*)`).FindAllStringSubmatch(rest, -1) {
		if tag[1] != "!DOCTYPE" && !strings.Contains(" "+own+" ", " "+tag[1]+" ") {
			t.Errorf("a strange tag: %q", tag[0])
		}
	}
	if regexp.MustCompile(`<[^>]*\son[a-z]+=`).MatchString(rest) {
		t.Error("an attribute that runs something")
	}
}

// With more shards than colours, no two shards have the same one, and the columns are named.
func TestColoursAreNotRepeated(t *testing.T) {
	text := page(t, newFullOverview(crowd(t, 100, 60)))
	list := text[strings.Index(text, `id="shard-list"`):]
	list = list[:strings.Index(list, "</table>")]
	seen := map[string]int{}
	for _, hue := range regexp.MustCompile(`key (hue\d+)`).FindAllStringSubmatch(list, -1) {
		if seen[hue[1]]++; seen[hue[1]] > 1 {
			t.Errorf("two shards have %s", hue[1])
		}
	}
	if len(seen) < 10 || !strings.Contains(text, "the others are grey") {
		t.Errorf("%d colours", len(seen))
	}
	chart := text[strings.Index(text, `<section id="shards">`):strings.Index(text, `id="shard-list"`)]
	for _, class := range []string{"wide", "narrow"} {
		svg := chart[strings.Index(chart, `class="chart `+class):]
		svg = svg[:strings.Index(svg, "</svg>")]
		if n := strings.Count(svg, "<text"); n < 5 || n > 30 {
			t.Errorf("%d labels in the %s chart", n, class)
		}
	}
}

// A hundred shards and a thousand collections: all are there, the worst in sight.
func TestPageOfManyCollections(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	s := crowd(t, 100, 1000)
	o := report.NewOverview(s)
	if o.Collections[0].Namespace != "app.c0999" || o.Collections[0].State != report.NotBalanced {
		t.Errorf("the worst comes first: %s, %s", o.Collections[0].Namespace, o.Collections[0].State)
	}
	text := page(t, o)
	for i := range 1000 {
		if name := fmt.Sprintf("app.c%04d", i); !strings.Contains(text, `<td class="name">`+name) {
			t.Fatalf("%s is not on the page", name)
		}
	}
	list := text[strings.Index(text, `id="collection-list"`):]
	list = list[:strings.Index(list, "</table>")]
	shown, hidden := strings.Count(list, "<tr>"), strings.Count(list, `<tr class="more">`)
	if shown != 21 || hidden != 980 {
		t.Errorf("%d lines in sight, %d not", shown, hidden)
	}
	if most := 4 << 20; len(text) > most {
		t.Errorf("the page takes %d bytes", len(text))
	}
}
