//go:build unix

package mixin

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/humanize"
)

var pictures = flag.Bool("pictures", false, "draw the dashboards of the fleet into docs/picture")

// draw draws each dashboard by what its queries answer, without Grafana: in Chromium.
func (s *promServer) draw(t *testing.T) {
	t.Helper()
	if !*pictures {
		return
	}
	for _, d := range dashboards() {
		page := filepath.Join(t.TempDir(), d.name+".html")
		text, height := s.page(t, d)
		if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		to, err := filepath.Abs("../docs/picture/dashboard-" + d.name + ".png")
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
			"--user-data-dir="+t.TempDir(), fmt.Sprintf("--window-size=1200,%d", height), "--screenshot="+to, "file://"+page)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

const style = `body{margin:8px;background:#fff;font:12px sans-serif;color:#222;width:1184px}
.p{position:absolute;box-sizing:border-box;border:1px solid #ccc;padding:6px;overflow:hidden}h2{font-size:12px;margin:0 0 4px}
.stat{font-size:22px;text-align:center;color:#05c}.stat small{font-size:11px;color:#555}table{font-size:12px}td{padding:1px 12px 1px 0;white-space:nowrap}`

func (s *promServer) page(t *testing.T, d dashboard) (text string, height int) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "<meta charset=utf-8><style>%s</style><b>%s</b>", style, html.EscapeString(d.title))
	const unit = 49
	for _, p := range d.model()["panels"].([]any) {
		at := p.(object)["gridPos"].(object)
		x, y, w, h := at["x"].(int)*unit, at["y"].(int)*26+24, at["w"].(int)*unit-4, at["h"].(int)*26-4
		height = max(height, y+h+12)
		one := d.panels[p.(object)["id"].(int)-1]
		fmt.Fprintf(&b, `<div class=p style="left:%dpx;top:%dpx;width:%dpx;height:%dpx"><h2>%s</h2>%s</div>`,
			x+8, y, w, h, html.EscapeString(one.title), s.panel(t, one, w-14, h-34))
	}
	return b.String(), height + 90
}

func (s *promServer) panel(t *testing.T, p panel, w, h int) string {
	t.Helper()
	query := only(filled(p.queries[0]))
	if p.kind == "timeseries" {
		return s.lines(t, p, query, w, h)
	}
	var b strings.Builder
	list := s.ask(t, query)
	if len(list) == 0 {
		return `<div class=stat><small>` + cmp.Or(p.may, "nothing") + `</small></div>`
	}
	if p.kind == "stat" {
		for _, one := range list[:min(len(list), 3)] {
			fmt.Fprintf(&b, "<div class=stat>%s <small>%s</small></div>", shownAs(p.unit, number(one.Value[1])), legend(p, one))
		}
		return b.String()
	}
	b.WriteString("<table>")
	for _, one := range list[:min(len(list), 9)] {
		fmt.Fprintf(&b, "<tr><td>%s<td><b>%s</b>", legend(p, one), shownAs(p.unit, number(one.Value[1])))
	}
	return b.String() + "</table>"
}

// only has the dashboards of one cluster show one that is of interest.
func only(query string) string {
	return strings.ReplaceAll(query, `cluster=~".*"`, `cluster="running"`)
}

func number(v any) float64 {
	f, _ := strconv.ParseFloat(fmt.Sprint(v), 64)
	return f
}

func shownAs(unit string, v float64) string {
	switch unit {
	case "bytes":
		return humanize.Bytes(int64(v))
	case "Bps":
		return humanize.Bytes(int64(v)) + "/s"
	case "s":
		return humanize.Duration(time.Duration(v * float64(time.Second)).Round(time.Second))
	case "percentunit":
		return strconv.FormatFloat(100*v, 'f', 0, 64) + " %"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

var placeholder = regexp.MustCompile(`\{\{(\w+)\}\}`)

func legend(p panel, s series) string {
	return html.EscapeString(placeholder.ReplaceAllStringFunc(p.legend, func(m string) string {
		return s.Metric[placeholder.FindStringSubmatch(m)[1]]
	}))
}

// lines draws a line for each series.
func (s *promServer) lines(t *testing.T, p panel, query string, w, h int) string {
	t.Helper()
	end := time.Now()
	from := end.Add(-*fleetTime)
	body, err := s.get(t, "/api/v1/query_range", url.Values{"query": {query}, "start": {fmt.Sprint(from.Unix())},
		"end": {fmt.Sprint(end.Unix())}, "step": {fmt.Sprint(max(1, int(fleetTime.Seconds()/100)))}})
	var list []series
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		t.Error(err)
	}
	if len(list) == 0 {
		return `<div class=stat><small>` + cmp.Or(p.may, "nothing") + `</small></div>`
	}
	low, high := 0.0, 1e-9
	for _, one := range list {
		for _, v := range one.Values {
			low, high = min(low, number(v[1])), max(high, number(v[1]))
		}
	}
	slices.SortFunc(list, func(a, b series) int {
		return -cmp.Compare(number(a.Values[len(a.Values)-1][1]), number(b.Values[len(b.Values)-1][1]))
	})
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width=%d height=%d>`, w, h)
	for i, one := range list {
		var points []string
		for _, v := range one.Values {
			x := (number(fmt.Sprint(v[0])) - float64(from.Unix())) / fleetTime.Seconds() * float64(w-170)
			y := float64(h-14) - (number(v[1])-low)/(high-low)*float64(h-20)
			points = append(points, fmt.Sprintf("%.0f,%.0f", x, y))
		}
		color := fmt.Sprintf("hsl(%d 70%% 42%%)", i*67%360)
		fmt.Fprintf(&b, `<polyline points="%s" fill=none stroke="%s" stroke-width=1.5 />`, strings.Join(points, " "), color)
		if i < 9 {
			fmt.Fprintf(&b, `<text x=%d y=%d fill="%s" font-size=11>%s</text>`, w-160, 12+i*14, color, legend(p, one))
		}
	}
	fmt.Fprintf(&b, `<text x=0 y=10 font-size=10 fill="#777">%s</text><text x=0 y=%d font-size=10 fill="#777">%s</text></svg>`,
		shownAs(p.unit, high), h-2, shownAs(p.unit, low))
	return b.String()
}
