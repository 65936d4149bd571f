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

// The number of lines that a list on the page shows before it is expanded, and the number of
// collections with a chunk map.
const (
	maxLines            = 20
	maxDrawnCollections = 10
	maxSteps            = 50
	maxParts            = 20
	maxPerCode          = 3 // findings of one code
)

// WritePage writes an overview as one page of HTML. The page loads no other resources and runs no script but
// its own. All strings from the cluster are escaped.
func WritePage(to io.Writer, o *Overview) error {
	return executeTemplate(to, "page.html", func(style template.CSS, script template.JS, policy string) any {
		return page{Overview: o, Style: style, Script: script, ContentPolicy: policy}
	})
}

// executeTemplate executes a template, which may use the templates of page.html. data returns the data of the
// template.
func executeTemplate(to io.Writer, name string, data func(style template.CSS, script template.JS,
	policy string) any) error {
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
	var b bytes.Buffer // an error leaves no partial page
	err = t.ExecuteTemplate(&b, name, data(template.CSS(style), template.JS(script),
		"default-src 'none'; base-uri 'none'; form-action 'none'; style-src "+cspHash(style)+
			"; script-src "+cspHash(script)))
	if err != nil {
		return err
	}
	_, err = b.WriteTo(to)
	return err
}

// cspHash returns the hash of an inline text for a content security policy, so that only this text may
// run.
func cspHash(text []byte) string {
	sum := sha256.Sum256(text)
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// page is the data of the template.
type page struct {
	*Overview
	Style         template.CSS
	Script        template.JS
	ContentPolicy string
}

// templateFuncs are the functions of the template.
var templateFuncs = template.FuncMap{
	"bytes": humanize.Bytes[int64], "count": countText, "counted": countedText,
	"time": timeText, "clock": clockText, "span": humanize.Duration,
	"share": shareText, "deviation": deviationText, "remedy": remedyOf, "join": strings.Join,
	"top": func(i int) bool { return i < maxLines }, "spread": ByteSpreadOf, "list": listOf, "grouped": groupsOf,
	"sum": func(a, b float64) float64 { return roundToTenth(a + b) },
}

func timeText(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// countText formats a number. Templates pass numbers of several types.
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

// shareText returns a part of a whole in percent.
func shareText(part, whole int64) string {
	if whole <= 0 {
		return "–"
	}
	return humanize.Percent(float64(part) / float64(whole))
}

func deviationText(d float64) string { return fmt.Sprintf("%+.0f%%", 100*d) }

// remedyOf returns the remedy in words; empty where the finding has commands.
func remedyOf(f diagnosis.Finding) string {
	if len(f.Commands) > 0 {
		return ""
	}
	return diagnosis.DefinitionOf(f.Code).Remedy
}

// Verdict returns the state of the cluster in one word: critical, warning, info or fine.
func (o *Overview) Verdict() string { return VerdictOf(o.Answer) }

// VerdictOf returns the verdict for an answer.
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

// Name returns the source without the options of its address.
func (p page) Name() string {
	name, _, _ := strings.Cut(p.Source, "?")
	return name
}

// Steps returns the first steps of a plan.
func (page) Steps(p *plan.Plan) []plan.Step { return p.Steps[:min(len(p.Steps), maxSteps)] }

// Hidden returns how many steps of a plan Steps leaves out.
func (page) Hidden(p *plan.Plan) int { return max(0, len(p.Steps)-maxSteps) }

// Drawn returns the collections that are shown by shard and by chunk.
func (p page) Drawn() (list []DrawnCollection) {
	for i, c := range p.Collections[:min(len(p.Collections), maxDrawnCollections)] {
		d := DrawnCollection{Collection: c}
		if i < len(p.Maps) {
			d.Map = &p.Maps[i]
		}
		list = append(list, d)
	}
	return list
}

// DrawnCollection is a collection with its map; the map may be nil.
type DrawnCollection struct {
	Collection
	Map *ChunkMap
}

// Undrawn returns how many collections Drawn leaves out.
func (p page) Undrawn() int { return len(p.Collections) - min(len(p.Collections), maxDrawnCollections) }

// Largest returns the largest parts of a collection.
func (page) Largest(c DrawnCollection) []Part { return c.Parts[:min(len(c.Parts), maxParts)] }

// Rest describes the parts that Largest leaves out; empty if there are none.
func (page) Rest(c DrawnCollection) string {
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

// findingList is the data of the template for findings.
type findingList struct {
	Title  string
	Groups []findingGroup
}

// findingGroup holds the findings of one code. The page folds all but the first few.
type findingGroup struct {
	Code          diagnosis.Code
	Shown, Folded []diagnosis.Finding
}

// Summary returns the summary of the answer. It includes the finding of the headline.
func (p page) Summary() diagnosis.Summary {
	s := p.Answer.Summary()
	if len(s.ToDo)+len(s.ThenByItself)+len(s.ByItself) == 0 && len(p.Answer.Symptoms) > 0 {
		s.ByItself = []diagnosis.Group{p.Answer.Symptoms}
	}
	return s
}

// groupsOf returns the groups of a summary for the template; the first few findings of each are
// visible.
func groupsOf(title string, groups []diagnosis.Group) findingList {
	l := findingList{Title: title}
	for _, g := range groups {
		n := min(len(g), maxPerCode)
		l.Groups = append(l.Groups, findingGroup{Code: g.First().Code, Shown: g[:n], Folded: g[n:]})
	}
	return l
}

// listOf groups findings by code, in the order of the first finding of each code.
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
