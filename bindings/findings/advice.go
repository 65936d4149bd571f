package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyadvice"
)

// KeyAdviceText returns the advice about a shard key: the verdict, the keys with their
// numbers, the reasons, and what to enter.
func KeyAdviceText(a keyadvice.Advice) string {
	var p page
	p.wrapped(0, sentence(a.Verdict))
	if len(a.Candidates) > 0 {
		p.heading("Keys")
		p.grid(candidateRows(a.Candidates), 1, 3, 4, 5, 6, 7, 8)
	}
	for _, c := range a.Candidates {
		if a.Best != nil && c.Key.Equal(a.Best.Key) {
			p.heading("Why " + c.Key.String())
			p.items(c.Reasons)
		}
	}
	p.others(a)
	p.section("Enter", a.Commands, (*page).line)
	p.section("Basis", a.Basis, (*page).wrapped)
	p.section("Notes", a.Notes, (*page).wrapped)
	return p.String()
}

// section writes a list under a heading, if there is something in it.
func (p *page) section(title string, list []string, write func(p *page, at int, text string)) {
	if len(list) > 0 {
		p.heading(title)
	}
	for _, text := range list {
		write(p, 2, text)
	}
}

// items writes sentences, each with a mark in front.
func (p *page) items(list []string) {
	for _, text := range list {
		for i, line := range lines(text, Width-4) {
			mark := "  "
			if i == 0 {
				mark = "- "
			}
			p.line(2, mark+line)
		}
	}
}

// others writes what the keys lack that are not the best.
func (p *page) others(a keyadvice.Advice) {
	rest := slices.DeleteFunc(slices.Clone(a.Candidates), func(c keyadvice.Candidate) bool {
		return a.Best != nil && c.Key.Equal(a.Best.Key)
	})
	if len(rest) > 0 {
		p.heading("Why not")
	}
	for _, c := range rest {
		p.line(2, c.Key.String())
		p.wrapped(4, c.Against)
	}
}

func candidateRows(list []keyadvice.Candidate) [][]string {
	rows := [][]string{{"key", "score", "verdict", "values", "top", "inserts to", "one", "some", "all"}}
	for _, c := range list {
		row := []string{c.Key.String(), strconv.FormatFloat(c.Score, 'f', 0, 64), string(c.Grade)}
		if c.Grade != keyadvice.Impossible {
			row = append(row, strconv.FormatInt(c.Distinct, 10), keyadvice.Percent(c.MostCommon),
				fmt.Sprintf("%.1f", c.Inserts), keyadvice.Percent(c.Single), keyadvice.Percent(c.Several),
				keyadvice.Percent(c.Every))
		}
		rows = append(rows, row)
	}
	return rows
}

// ChunkSizeText returns the advice about a chunk size.
func ChunkSizeText(a keyadvice.ChunkSize) string {
	var p page
	p.wrapped(0, sentence(a.Verdict))
	p.why(a.Reasons)
	p.section("Enter", a.Commands, (*page).line)
	p.section("Notes", a.Notes, (*page).wrapped)
	return p.String()
}

func (p *page) why(reasons []string) {
	if len(reasons) > 0 {
		p.heading("Why")
		p.items(reasons)
	}
}

// pointsShown is how many bounds of a presplit are shown.
const pointsShown = 12

// PresplitText returns the advice about a presplit.
func PresplitText(a keyadvice.Presplit) string {
	var p page
	p.wrapped(0, sentence(a.Verdict))
	p.why(a.Reasons)
	if len(a.Zones) > 0 {
		p.heading("Zones")
		rows := [][]string{{"zone", "shards", "documents", "chunks"}}
		for _, z := range a.Zones {
			name := z.Zone
			name = cmp.Or(name, "(no zone)")
			rows = append(rows, []string{name, strconv.Itoa(z.Shards), keyadvice.Percent(z.Share),
				strconv.FormatInt(z.Chunks, 10)})
		}
		p.grid(rows, 1, 2, 3)
	}
	if len(a.Points) > 0 {
		p.heading("Cuts")
	}
	for _, point := range a.Points[:min(pointsShown, len(a.Points))] {
		p.line(2, humanize.Literal(bson.Raw(point)))
	}
	if rest := len(a.Points) - pointsShown; rest > 0 {
		p.line(2, fmt.Sprintf("and %d more", rest))
	}
	p.section("Enter", a.Commands, (*page).line)
	p.section("Notes", a.Notes, (*page).wrapped)
	return p.String()
}
