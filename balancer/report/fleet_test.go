package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/diagnosis"
)

// The page has the worst clusters first, loads nothing, and what comes from clusters is text
// in it.
func TestFleetPage(t *testing.T) {
	hostile := `<img src=x onerror=alert(1)>`
	members := []FleetCluster{
		{Cluster: "fine", Address: "mongodb://a", Overview: &Overview{Version: hostile}},
		{Cluster: "down", Address: "mongodb://b", Labels: map[string]string{"env": hostile}, Error: "can't reach " + hostile},
		{Cluster: "bad", Address: "mongodb://c", Overview: &Overview{Answer: diagnosis.Answer{
			Symptoms: []diagnosis.Finding{{Severity: diagnosis.Critical, Sentence: hostile}}}}},
	}
	var page bytes.Buffer
	if err := WriteFleetPage(&page, members, time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<img") {
		t.Error("the page obeys what a cluster says")
	}
	var order []string
	for _, m := range regexp.MustCompile(`href="#c-([a-z]+)"`).FindAllStringSubmatch(text, -1) {
		order = append(order, m[1])
	}
	if got := strings.Join(order, " "); got != "bad down fine" {
		t.Errorf("the order is %s", got)
	}
	for _, want := range []string{"3 clusters: 1 critical, 1 unknown, 1 fine", `id="c-down"`, "can&#39;t reach &lt;img", "2026-03-02 12:00:00 UTC"} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %s", want)
		}
	}
	if regexp.MustCompile(`(src|href)="(https?:)?//`).MatchString(text) {
		t.Error("it loads something")
	}
}
