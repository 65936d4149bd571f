package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	title    = regexp.MustCompile(`(?m)^#+ (.+)$`)
	branch   = regexp.MustCompile(`(?m)^((?:[│ ]*[├└]── )?)([a-z/]+(?:, [a-z/]+)*) {2,}\S`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchor returns what a link names a heading by.
func anchor(heading string) string {
	return strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
}

// Links of the README and the docs lead to files, and to headings in them, and
// every page is linked from another one.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Glob("rules/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found, linked := 0, map[string]bool{}
	books, err := filepath.Glob("runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	above := []string{"../mixin/README.md", "../README.md", "../CONTRIBUTING.md", "../CHANGELOG.md", "../SECURITY.md"}
	for _, file := range slices.Concat(files, rules, books, above) {
		for _, m := range link.FindAllStringSubmatch(read(t, file), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			found++
			path, fragment, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(file), path)
			if path == "" {
				target = file
			}
			if target != file {
				linked[strings.TrimPrefix(filepath.ToSlash(target), "../docs/")] = true
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", file, m[1])
				continue
			}
			if fragment != "" && !hasHeading(read(t, target), fragment) {
				t.Errorf("%s: %s leads to no heading", file, m[1])
			}
		}
	}
	for _, file := range files {
		if !linked[file] {
			t.Errorf("no page links to docs/%s", file)
		}
	}
	if found < 20 {
		t.Errorf("only %d links found", found)
	}
}

func hasHeading(text, fragment string) bool {
	for _, m := range title.FindAllStringSubmatch(text, -1) {
		if anchor(m[1]) == fragment {
			return true
		}
	}
	return false
}

// The packages in the picture of docs/architecture.md exist: in the package whose branch they
// are on, or at the root.
func TestPackages(t *testing.T) {
	_, picture, _ := strings.Cut(read(t, "architecture.md"), "## Packages")
	found, above := 0, []string{".."} // the packages that the branch hangs on
	for _, m := range branch.FindAllStringSubmatch(picture, -1) {
		depth := utf8.RuneCountInString(m[1]) / 4
		for name := range strings.SplitSeq(m[2], ", ") {
			found++
			path := filepath.Join(above[min(depth, len(above)-1)], name)
			if !isDir(path) {
				path = filepath.Join("..", name)
			}
			if !isDir(path) {
				t.Errorf("the package %s of the picture does not exist", name)
			}
			above = append(above[:min(depth+1, len(above))], path)
		}
	}
	if found < 50 {
		t.Errorf("only %d packages found", found)
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
