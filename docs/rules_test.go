package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rules are the targets of citations: by page of docs/rules its sections, and
// by section the numbers of its list or table.
type rules map[string]map[string]map[string]bool

var (
	heading = regexp.MustCompile(`^#{2,4} (?:(\d+(?:\.\d+)*)\.? |(Appendix [A-Z])\b)`)
	entry   = regexp.MustCompile(`^(?:(\d+)\. |\| (\d+) \|)`)
)

// add reads a page. A section must not be twice in the pages of a part, which
// are those that begin with the same number.
func (r rules) add(page, text string) error {
	part := page[:2]
	section, code := "", false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			code = !code
		}
		if code {
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			section = m[1] + m[2]
			if r.has(part, section) {
				return fmt.Errorf("part %s has §%s twice", part, section)
			}
			if r[page] == nil {
				r[page] = map[string]map[string]bool{}
			}
			r[page][section] = map[string]bool{}
		} else if m := entry.FindStringSubmatch(line); m != nil && section != "" {
			r[page][section][m[1]+m[2]] = true
		}
	}
	return nil
}

// section returns the entries of a section, nil when it is not there. The scope
// is a page, or a part: all its pages.
func (r rules) section(scope, section string) map[string]bool {
	for page, sections := range r {
		if scope != "" && strings.HasPrefix(page, scope) && sections[section] != nil {
			return sections[section]
		}
	}
	return nil
}

// has reports whether there is such a section. The last number of "6.1.3" is
// that of an entry in 6.1.
func (r rules) has(scope, section string) bool {
	if r.section(scope, section) != nil {
		return true
	}
	dot := strings.LastIndexByte(section, '.')
	return dot > 0 && r.section(scope, section[:dot])[section[dot+1:]]
}

var (
	citation = regexp.MustCompile(`\brules/(0\d-[a-z-]+)|§(\d+(?:\.\d+)*)(?:, (?:trap|row) (\d+))?|\b(Appendix [A-Z])\b`)
	foreign  = regexp.MustCompile(`IEEE 754-2008 §[\d.]+`)      // other texts that have sections
	joined   = regexp.MustCompile(`^(?:,|,? and| to|,? or)? $`) // "rules/01-selection §6.10 and §8"
	old      = regexp.MustCompile(`\b[sS]pec 0\d`)              // which says no page
)

// check returns the citations of a text that lead nowhere. A section without a
// page is on the page that was named last in its line; in the rules themselves,
// and in files that are about one part, it is of their own part.
func (r rules) check(text, own string) (wrong []string) {
	text = foreign.ReplaceAllString(text, "")
	wrong = append(wrong, old.FindAllString(text, -1)...)
	for line := range strings.Lines(text) {
		scope, end := own, 0
		for _, at := range citation.FindAllStringSubmatchIndex(line, -1) {
			between := line[end:at[0]]
			end = at[1]
			if at[2] >= 0 {
				if scope = line[at[2]:at[3]]; r[scope] == nil {
					wrong = append(wrong, "rules/"+scope)
				}
				continue
			}
			if own != "" && !joined.MatchString(between) {
				scope = own
			}
			section := line[max(at[4], at[8]):max(at[5], at[9])]
			if !r.has(scope, section) {
				wrong = append(wrong, fmt.Sprintf("rules/%s §%s", scope, section))
			} else if at[6] >= 0 && !r.section(scope, section)[line[at[6]:at[7]]] {
				wrong = append(wrong, fmt.Sprintf("rules/%s §%s, no. %s", scope, section, line[at[6]:at[7]]))
			}
		}
	}
	return wrong
}

// readRules reads docs/rules.
func readRules(t *testing.T) rules {
	t.Helper()
	files, err := filepath.Glob("rules/0*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	r := rules{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.add(strings.TrimSuffix(filepath.Base(file), ".md"), string(text)); err != nil {
			t.Error(err)
		}
	}
	return r
}

var (
	comment = regexp.MustCompile(`\n[ \t]*//[ \t]?`)       // which may go on in the next line
	folded  = regexp.MustCompile(`\n[ \t]*([^\s|#\x60-])`) // a paragraph, or an entry of a list
)

// aboutOnePart are the files whose citations leave the part out.
var aboutOnePart = map[string]string{
	"balancer/catalog/testdata/":           "01",
	"balancer/catalog/examples_test.go":    "01",
	"balancer/mock/router/testdata/spec03": "03",
}

// ownPart returns the part that a file is about, "" without one.
func ownPart(path string) string {
	if rest, ok := strings.CutPrefix(path, "docs/rules/0"); ok {
		return "0" + rest[:1]
	}
	for prefix, part := range aboutOnePart {
		if strings.HasPrefix(path, prefix) {
			return part
		}
	}
	return ""
}

// Every citation of a rule, in the program, its tests and their data, in the
// docs and in the rules themselves, leads to a section that is there.
func TestEveryCitationHasATarget(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, and long")
	}
	r := readRules(t)
	cited := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path = filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if d.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "fuzz"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if path == "docs/rules_test.go" || !slices.Contains([]string{".go", ".md", ".js", ".jsonl", ".txt"},
			filepath.Ext(path)) {
			return nil
		}
		data, err := os.ReadFile(filepath.Join("..", path))
		if err != nil {
			return err
		}
		text := string(data)
		switch filepath.Ext(path) {
		case ".go":
			text = comment.ReplaceAllString(text, " ")
		case ".md":
			text = folded.ReplaceAllString(text, " $1")
		}
		cited += len(citation.FindAllString(text, -1))
		for _, wrong := range r.check(text, ownPart(path)) {
			t.Errorf("%s cites %s, which is not in docs/rules", path, wrong)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cited < 1000 {
		t.Errorf("only %d citations found", cited)
	}
}

func TestCitations(t *testing.T) {
	r := rules{}
	for _, page := range []struct{ name, text string }{
		{"01-one", "## 1. One\n### 1.2 Two\n\n1. a\n2. b\n```\n## 9. no heading\n```\n"},
		{"01-traps", "## 12. Traps\n7. c\n## Appendix A. Pairs\n"},
		{"02-two", "## 2. Two\n| 3 | row |\n"},
	} {
		if err := r.add(page.name, page.text); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct{ text, own, wrong string }{
		{"as rules/01-one §1.2 says", "", ""},
		{"(docs/rules/01-one.md §1)", "", ""},
		{"rules/01-one §1.2.2 and rules/01-traps §12, trap 7", "", ""},
		{"rules/01-one §1, rules/02-two §2, row 3", "", ""},
		{"rules/01-traps, Appendix A; IEEE 754-2008 §4.3", "", ""},
		{"§2, and rules/01-one §1", "02", ""},
		{"rules/01-one §1.2; see §2", "02", ""},
		{"§1 and §12", "01", ""},
		{"rules/01-one §1.3", "", "rules/01-one §1.3"},
		{"rules/01-one §12", "", "rules/01-one §12"},
		{"rules/01-one §9", "", "rules/01-one §9"},
		{"rules/07-seven", "", "rules/07-seven"},
		{"rules/01-one §1.2.3", "", "rules/01-one §1.2.3"},
		{"rules/01-traps §12, trap 8", "", "rules/01-traps §12, no. 8"},
		{"rules/01-one §1 and §2", "", "rules/01-one §2"},
		{"rules/02-two §2 to §1.2", "01", "rules/02-two §1.2"},
		{"rules/02-two, Appendix A", "", "rules/02-two §Appendix A"},
		{"see §1", "", "rules/ §1"},
		{"Spec 01 says", "", "Spec 01"},
	}
	for _, tt := range tests {
		if got := strings.Join(r.check(tt.text, tt.own), "; "); got != tt.wrong {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.wrong)
		}
	}
	if err := r.add("01-more", "## 12. Traps again\n"); err == nil {
		t.Error("a section twice in a part is accepted")
	}
}
