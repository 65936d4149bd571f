// Package docs embeds the documentation in the program.
package docs

import (
	"cmp"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

//go:embed *.md runbooks/*.md
var pages embed.FS

// Section is a section of a page, with its heading.
type Section struct {
	Page    string // such as findings.md
	Heading string
	// Text is the text of the section, including its heading.
	Text string
}

// Location returns the page and the heading of the section, such as "docs/findings.md: HEADING".
func (s Section) Location() string { return "docs/" + s.Page + ": " + s.Heading }

// headingPattern matches the line at which a section begins.
var headingPattern = regexp.MustCompile(`(?m)^#{1,4} .*$`)

// wordPattern matches the words that Search compares.
var wordPattern = regexp.MustCompile(`[\p{L}\p{N}_$]+`)

var sections = sync.OnceValue(func() (list []Section) {
	_ = fs.WalkDir(pages, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := pages.ReadFile(name)
		switch {
		case err != nil:
		case path.Dir(name) == "runbooks": // runbooks are short, and each explains one finding
			title, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
			list = append(list, Section{Page: name, Heading: title, Text: strings.TrimSpace(string(text))})
		default:
			list = append(list, splitPage(name, string(text))...)
		}
		return err
	}) // reading embedded files does not fail
	return list
})

// splitPage splits a page at its headings.
func splitPage(page, text string) (list []Section) {
	starts := headingPattern.FindAllStringIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		s := Section{Page: page, Heading: strings.TrimLeft(text[at[0]:at[1]], "# ")}
		prose, rows := extractRows(strings.TrimSpace(text[at[0]:end]))
		s.Text = prose
		list = append(list, s)
		for _, row := range rows {
			first, _, _ := strings.Cut(strings.TrimPrefix(row[len(row)-1], "| "), " |")
			list = append(list, Section{Page: page, Heading: strings.Trim(first, "`"), Text: strings.Join(row, "\n")})
		}
	}
	return list
}

// minLongTableRows is the number of rows from which each row of a table is a section, because such tables
// explain codes or helpers.
const minLongTableRows = 8

// extractRows extracts the rows of long tables from a text, each with the header of its table.
func extractRows(text string) (prose string, rows [][]string) {
	var left, table []string
	end := func() {
		if len(table) < minLongTableRows+2 {
			left = append(left, table...)
		} else {
			for _, row := range table[2:] {
				rows = append(rows, []string{table[0], table[1], row})
			}
		}
		table = nil
	}
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "|") {
			table = append(table, line)
			continue
		}
		end()
		left = append(left, line)
	}
	end()
	return strings.TrimSpace(strings.Join(left, "\n")), rows
}

// Search returns the sections that match a query best, no more than most, the best first. A word in a
// heading has more weight than one in the text, and a rare word more than a common one.
func Search(query string, most int) []Section {
	words := wordPattern.FindAllString(strings.ToLower(query), -1)
	slices.Sort(words)
	words = slices.Compact(words)
	type ranked struct {
		Section
		score float64
	}
	all := sections()
	list := make([]ranked, len(all))
	for _, w := range words {
		var hits []int
		for i, s := range all {
			if strings.Contains(strings.ToLower(s.Text), w) {
				hits = append(hits, i)
			}
		}
		for _, i := range hits {
			weight := 1.0
			switch of := strings.ToLower(all[i].Heading); {
			case of == w:
				weight = 20
			case strings.Contains(of, w):
				weight = 6
			}
			list[i].score += weight * float64(len(all)) / float64(len(hits)) // rare words have more weight
		}
	}
	for i := range list {
		list[i].Section = all[i]
	}
	list = slices.DeleteFunc(list, func(r ranked) bool { return r.score == 0 })
	slices.SortStableFunc(list, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	var best []Section
	for _, r := range list[:min(most, len(list))] {
		best = append(best, r.Section)
	}
	return best
}
