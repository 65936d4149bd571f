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

// KeyAdviceText returns the advice about a shard key: the verdict, the keys with their numbers, the
// reasons, and the commands.
func KeyAdviceText(a keyadvice.Advice) string {
	var p page
	p.writeWrapped(0, sentence(a.Verdict))
	if len(a.Candidates) > 0 {
		p.writeHeading("Keys")
		p.writeGrid(candidateRows(a.Candidates), 1, 3, 4, 5, 6, 7, 8)
	}
	for _, c := range a.Candidates {
		if a.Best != nil && c.Key.Equal(a.Best.Key) {
			p.writeHeading("Why " + c.Key.String())
			p.writeItems(c.Reasons)
		}
	}
	p.writeOtherKeys(a)
	p.writeSection("Enter", a.Commands, (*page).writeLine)
	p.writeSection("Basis", a.Basis, (*page).writeWrapped)
	p.writeSection("Notes", a.Notes, (*page).writeWrapped)
	return p.String()
}

// writeSection writes a list under a heading, unless the list is empty.
func (p *page) writeSection(title string, list []string, write func(p *page, at int, text string)) {
	if len(list) > 0 {
		p.writeHeading(title)
	}
	for _, text := range list {
		write(p, 2, text)
	}
}

// writeItems writes sentences with bullets.
func (p *page) writeItems(list []string) {
	for _, text := range list {
		for i, line := range wrapText(text, Width-4) {
			mark := "  "
			if i == 0 {
				mark = "- "
			}
			p.writeLine(2, mark+line)
		}
	}
}

// writeOtherKeys writes why the other keys are worse.
func (p *page) writeOtherKeys(a keyadvice.Advice) {
	rest := slices.DeleteFunc(slices.Clone(a.Candidates), func(c keyadvice.Candidate) bool {
		return a.Best != nil && c.Key.Equal(a.Best.Key)
	})
	if len(rest) > 0 {
		p.writeHeading("Why not")
	}
	for _, c := range rest {
		p.writeLine(2, c.Key.String())
		p.writeWrapped(4, c.Drawback)
	}
}

func candidateRows(list []keyadvice.Candidate) [][]string {
	rows := [][]string{{"key", "score", "verdict", "values", "top", "inserts to", "one", "some", "all"}}
	for _, c := range list {
		row := []string{c.Key.String(), strconv.FormatFloat(c.Score, 'f', 0, 64), string(c.Grade)}
		if c.Grade != keyadvice.Impossible {
			row = append(row, strconv.FormatInt(c.Distinct, 10), humanize.Percent(c.MostCommonShare),
				fmt.Sprintf("%.1f", c.InsertShards), humanize.Percent(c.SingleShardShare), humanize.Percent(c.MultiShardShare),
				humanize.Percent(c.ScatterGatherShare))
		}
		rows = append(rows, row)
	}
	return rows
}

// ChunkSizeText returns the advice about a chunk size.
func ChunkSizeText(a keyadvice.ChunkSizeAdvice) string {
	var p page
	p.writeWrapped(0, sentence(a.Verdict))
	p.writeReasons(a.Reasons)
	p.writeSection("Enter", a.Commands, (*page).writeLine)
	p.writeSection("Notes", a.Notes, (*page).writeWrapped)
	return p.String()
}

func (p *page) writeReasons(reasons []string) {
	if len(reasons) > 0 {
		p.writeHeading("Why")
		p.writeItems(reasons)
	}
}

// maxPoints is the maximum number of split points that are shown.
const maxPoints = 12

// PresplitText returns the advice about a presplit.
func PresplitText(a keyadvice.Presplit) string {
	var p page
	p.writeWrapped(0, sentence(a.Verdict))
	p.writeReasons(a.Reasons)
	if len(a.Zones) > 0 {
		p.writeHeading("Zones")
		rows := [][]string{{"zone", "shards", "documents", "chunks"}}
		for _, z := range a.Zones {
			name := cmp.Or(z.Zone, "(no zone)")
			rows = append(rows, []string{name, strconv.Itoa(z.Shards), humanize.Percent(z.Share),
				strconv.FormatInt(z.Chunks, 10)})
		}
		p.writeGrid(rows, 1, 2, 3)
	}
	if len(a.Points) > 0 {
		p.writeHeading("Cuts")
	}
	for _, point := range a.Points[:min(maxPoints, len(a.Points))] {
		p.writeLine(2, humanize.Literal(bson.Raw(point)))
	}
	if rest := len(a.Points) - maxPoints; rest > 0 {
		p.writeLine(2, fmt.Sprintf("and %d more", rest))
	}
	p.writeSection("Enter", a.Commands, (*page).writeLine)
	p.writeSection("Notes", a.Notes, (*page).writeWrapped)
	return p.String()
}
