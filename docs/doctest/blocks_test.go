package doctest

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

// block is a fenced block of a page.
type block struct {
	line       int // of its first line
	lang, text string
	marks      []mark
}

// mark is a comment before a block.
type mark struct{ name, of, text string }

var (
	fence   = regexp.MustCompile("^( *)```([a-z]*)$")
	comment = regexp.MustCompile(`(?s)<!--(.*?)-->`)
	marking = regexp.MustCompile(`(?s)^(not run|cluster|before|goes on|file|with node)(?: ([^:]+))?(?:: *(.*))?$`)
	heading = regexp.MustCompile(`^(?://|#) (\S+\.(?:js|mjs|ts|json|yaml|yml|py|go))\b`)
)

// languages are those that somebody runs or reads.
var languages = []string{"sh", "bash", "js", "ts", "text", "json", "yaml", "go", "python"}

// blocksOf returns the blocks of a page.
func blocksOf(text string) (list []block, err error) {
	var open *block
	var between strings.Builder // what stands between the last block and the next one
	indent := ""
	for i, line := range strings.Split(text, "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case open != nil && m != nil && m[2] == "":
			list, open = append(list, *open), nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		case m != nil:
			open, indent = &block{line: i + 2, lang: m[2]}, m[1]
			if open.marks, err = marksOf(between.String()); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			if _, out := open.leftOut(""); !out && !slices.Contains(languages, open.lang) {
				return nil, fmt.Errorf("line %d: nobody runs blocks in %q", i+1, open.lang)
			}
			between.Reset()
		default:
			between.WriteString(line + "\n")
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.line)
	}
	return list, nil
}

// marksOf returns the marks in what stands before a block: all comments but those that
// text follows are for it; of the others only a cluster's counts.
func marksOf(text string) (list []mark, err error) {
	for _, at := range comment.FindAllStringSubmatchIndex(text, -1) {
		m := marking.FindStringSubmatch(strings.TrimSpace(text[at[2]:at[3]]))
		last := strings.TrimSpace(comment.ReplaceAllString(text[at[1]:], "")) == ""
		switch {
		case m == nil && last:
			return nil, fmt.Errorf("%q is not a mark", text[at[0]:at[1]])
		case m == nil || !last && m[1] != "cluster":
			continue
		case m[1] == "not run" && m[3] == "":
			return nil, fmt.Errorf("%q gives no reason", text[at[0]:at[1]])
		}
		list = append(list, mark{m[1], m[2], strings.TrimSpace(m[3])})
	}
	return list, nil
}

// mark returns the last mark of a name.
func (b block) mark(name string) (m mark, ok bool) {
	for _, one := range b.marks {
		if one.name == name {
			m, ok = one, true
		}
	}
	return m, ok
}

// leftOut returns why the block, or a line of it, is not run.
func (b block) leftOut(line string) (reason string, ok bool) {
	for _, m := range b.marks {
		if prefix := strings.Trim(m.of, `"`); m.name == "not run" && (line == "") == (prefix == "") &&
			strings.HasPrefix(strings.TrimSpace(line), prefix) {
			return m.text, true
		}
	}
	return "", false
}

// file returns the name of the file that the block is, "" for none.
func (b block) file() string {
	if m, ok := b.mark("file"); ok {
		return m.text
	}
	if m := heading.FindStringSubmatch(b.text); m != nil && b.lang != "sh" && b.lang != "bash" && b.lang != "text" {
		return m[1]
	}
	return ""
}

// root is the project's.
func root(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// pages returns the blocks of all pages by name, in order. Not among them are the rules,
// which tell of MongoDB and mongosh and not of what is here.
func pages(t testing.TB) (names []string, blocks map[string][]block) {
	t.Helper()
	top, blocks := root(t), map[string][]block{}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if slices.Contains([]string{".git", "node_modules", "testdata", "rules", "built"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		list, err := blocksOf(string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		names, blocks[name] = append(names, name), list
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, blocks
}

func TestBlocksOf(t *testing.T) {
	list, err := blocksOf("# x\n<!-- cluster --mock=5: sh.stopBalancer() -->\ntext <!-- of nobody --> and more\n" +
		"<!-- not run \"curl\": needs the net -->\n```sh\ncurl x\nls\n```\n\n- a\n  ```js\n  // a.js\n    1\n  ```\n")
	if err != nil || len(list) != 2 {
		t.Fatalf("%v, %v", list, err)
	}
	if m, _ := list[0].mark("cluster"); m.of != "--mock=5" || m.text != "sh.stopBalancer()" || list[0].line != 6 {
		t.Errorf("%+v", list[0])
	}
	for line, want := range map[string]string{"curl x": "needs the net", "ls": "", "": ""} {
		if got, _ := list[0].leftOut(line); got != want {
			t.Errorf("%q is left out: %q", line, got)
		}
	}
	if list[1].text != "// a.js\n  1\n" || list[1].file() != "a.js" {
		t.Errorf("%+v", list[1])
	}
	for page, want := range map[string]string{
		"```\nx\n```": `nobody runs blocks in ""`,
		"```sh\nx":    "has no end",
		"<!-- not to be run: x -->\n```sh\nx\n```": "is not a mark",
		"<!-- not run -->\n\n```sh\nx\n```\n":      "gives no reason",
	} {
		if _, err := blocksOf(page); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", page, err)
		}
	}
}

// Every block of every page is one that somebody runs, or says why not.
func TestAllBlocks(t *testing.T) {
	n := 0
	names, blocks := pages(t)
	for _, name := range names {
		n += len(blocks[name])
	}
	if len(names) < 20 || n < 80 {
		t.Errorf("only %d pages and %d blocks", len(names), n)
	}
}
