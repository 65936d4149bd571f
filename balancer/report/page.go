package report

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"reflect"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
)

//go:embed page.html fleet.html page.css page.js
var files embed.FS

// How many lines a list of the page shows before somebody asks for the rest, and
// how many collections are drawn chunk by chunk.
const (
	maxLines   = 20
	maxDrawn   = 10
	maxSteps   = 50
	maxParts   = 20
	maxPerCode = 3 // findings of one code
)

// Page writes an overview as one page of HTML that needs nothing else: it loads
// nothing, and runs no script but its own. All that comes from the cluster is
// text in it, whatever it looks like.
func Page(to io.Writer, o *Overview) error {
	return writePage(to, "page.html", func(style template.CSS, script template.JS, policy string) any {
		return page{Overview: o, Style: style, Script: script, Policy: policy}
	})
}

// writePage writes a page of a template, which may use those of page.html. Data makes what the
// template sees.
func writePage(to io.Writer, name string, data func(style template.CSS, script template.JS, policy string) any) error {
	style, err := files.ReadFile("page.css")
	if err != nil {
		return err
	}
	script, err := files.ReadFile("page.js")
	if err != nil {
		return err
	}
	t, err := template.New(name).Funcs(templateFuncs).ParseFS(files, "page.html", name)
	if err != nil {
		return err
	}
	var b bytes.Buffer // an error leaves no half page
	err = t.ExecuteTemplate(&b, name, data(template.CSS(style), template.JS(script),
		"default-src 'none'; base-uri 'none'; form-action 'none'; style-src "+cspHash(style)+
			"; script-src "+cspHash(script)))
	if err != nil {
		return err
	}
	_, err = b.WriteTo(to)
	return err
}

// cspHash names a text in a content security policy, so that only it may run.
func cspHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is what the template sees.
type page struct {
	*Overview
	Style  template.CSS
	Script template.JS
	Policy string
}

// templateFuncs are the functions of the template.
var templateFuncs = template.FuncMap{
	"bytes": humanize.Bytes[int64], "count": countText, "counted": countedText,
	"time": timeText, "clock": clockText, "span": humanize.Duration,
	"share": shareText, "deviation": deviationText, "remedy": remedyOf, "join": strings.Join,
	"top": func(i int) bool { return i < maxLines }, "spread": SpreadOf, "list": listOf, "grouped": groupsOf,
	"sum": func(a, b float64) float64 { return round(a + b) },
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// Templates have numbers of several types.
func countText(n any) string                { return humanize.Number(wholeNumber(n)) }
func countedText(n any, what string) string { return humanize.Count(wholeNumber(n), what) }

func wholeNumber(n any) int64 {
	v := reflect.ValueOf(n)
	if v.CanInt() {
		return v.Int()
	}
	return int64(v.Float())
}

func clockText(t time.Time) string { return t.UTC().Format("15:04") }

// shareText is a part of a whole.
func shareText(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	return humanize.Percent(float64(part) / float64(whole))
}

func deviationText(d float64) string { return fmt.Sprintf("%+.0f%%", 100*d) }

// remedyOf is what to do in words; where there are commands they say it.
func remedyOf(f diagnosis.Finding) string {
	if len(f.Commands) > 0 {
		return ""
	}
	return diagnosis.Define(f.Code).Remedy
}

// Verdict returns how the cluster is, in a word: critical, warning or fine.
func (o *Overview) Verdict() string { return VerdictOf(o.Answer) }

// VerdictOf is how a cluster is by what is wrong with it.
func VerdictOf(a diagnosis.Answer) string {
	worst := diagnosis.Info
	for _, f := range a.Symptoms {
		worst = max(worst, f.Severity)
	}
	for _, g := range a.Summary().ToDo {
		worst = max(worst, g.First().Severity)
	}
	switch {
	case a.Healthy():
		return "fine"
	case worst == diagnosis.Info:
		return "info"
	}
	return worst.String()
}

// Name is the source without the options of its address.
func (p page) Name() string {
	name, _, _ := strings.Cut(p.Source, "?")
	return name
}

// Steps are the first of a plan.
func (page) Steps(p *plan.Plan) []plan.Step { return p.Steps[:min(len(p.Steps), maxSteps)] }

// Hidden is how many steps a plan has beyond Steps.
func (page) Hidden(p *plan.Plan) int { return max(0, len(p.Steps)-maxSteps) }

// Drawn are the collections that are shown shard by shard and chunk by chunk.
func (p page) Drawn() (list []Drawn) {
	for i, c := range p.Collections[:min(len(p.Collections), maxDrawn)] {
		d := Drawn{Collection: c}
		if i < len(p.Maps) {
			d.Map = &p.Maps[i]
		}
		list = append(list, d)
	}
	return list
}

// Drawn is a collection with its map; nil where there is none.
type Drawn struct {
	Collection
	Map *ChunkMap
}

// Undrawn is how many collections Drawn leaves out.
func (p page) Undrawn() int { return len(p.Collections) - min(len(p.Collections), maxDrawn) }

// Largest are the shards that have most of a collection.
func (page) Largest(c Drawn) []Part { return c.Parts[:min(len(c.Parts), maxParts)] }

// Rest says what the shards have that Largest leaves out; nothing where there are
// none.
func (page) Rest(c Drawn) string {
	if len(c.Parts) <= maxParts {
		return ""
	}
	var sum Holding
	for _, on := range c.Parts[maxParts:] {
		sum.add(on.Holding)
	}
	return fmt.Sprintf("%d more shards have %s in %s chunks.", len(c.Parts)-maxParts, humanize.Bytes[int64](sum.Bytes),
		humanize.Number(sum.Chunks))
}

// findingList is what the template for findings takes.
type findingList struct {
	Title  string
	Groups []findingGroup
}

// findingGroup are findings of one code. Those beyond the first few are folded.
type findingGroup struct {
	Code          diagnosis.Code
	Shown, Folded []diagnosis.Finding
}

// Summary is what an operator has to know first, each thing once. What the headline alone
// says is in it, too.
func (p page) Summary() diagnosis.Summary {
	s := p.Answer.Summary()
	if len(s.ToDo)+len(s.Then)+len(s.ByItself) == 0 && len(p.Answer.Symptoms) > 0 {
		s.ByItself = []diagnosis.Group{p.Answer.Symptoms}
	}
	return s
}

// groupsOf are the groups of a summary, of which the first few findings are in sight.
func groupsOf(title string, groups []diagnosis.Group) findingList {
	l := findingList{Title: title}
	for _, g := range groups {
		n := min(len(g), maxPerCode)
		l.Groups = append(l.Groups, findingGroup{Code: g.First().Code, Shown: g[:n], Folded: g[n:]})
	}
	return l
}

// listOf puts findings of one code together, where the first of them stands.
func listOf(title string, list []diagnosis.Finding) findingList {
	l := findingList{Title: title}
	at := map[diagnosis.Code]int{}
	for _, f := range list {
		i, known := at[f.Code]
		if !known {
			i = len(l.Groups)
			at[f.Code], l.Groups = i, append(l.Groups, findingGroup{Code: f.Code})
		}
		if g := &l.Groups[i]; len(g.Shown) < maxPerCode {
			g.Shown = append(g.Shown, f)
		} else {
			g.Folded = append(g.Folded, f)
		}
	}
	return l
}
