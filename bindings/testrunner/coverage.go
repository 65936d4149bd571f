package testrunner

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"shardsh/bindings/script"
)

// Coverage counts how often the lines of scripts ran. It is safe for concurrent use.
type Coverage struct {
	mu    sync.Mutex
	files map[string]map[int]int // by path, then by line
}

// NewCoverage returns an empty Coverage.
func NewCoverage() *Coverage { return &Coverage{files: map[string]map[int]int{}} }

// watchFunc returns the function that an engine calls; path returns the path of a file by its name in
// the engine.
func (c *Coverage) watchFunc(path func(name string) string) func([]script.Line) func(int) {
	return func(lines []script.Line) func(int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		counts := make([]map[int]int, len(lines))
		for i, l := range lines {
			file := path(l.File)
			if c.files[file] == nil {
				c.files[file] = map[int]int{}
			}
			counts[i] = c.files[file]
			counts[i][l.Line] += 0
		}
		return func(i int) {
			c.mu.Lock()
			defer c.mu.Unlock()
			counts[i][lines[i].Line]++
		}
	}
}

// FileCoverage says how often the lines of one script ran, by line number.
type FileCoverage struct {
	Path  string
	Lines map[int]int
}

// Covered returns the number of lines that ran.
func (f FileCoverage) Covered() int { return len(f.Lines) - len(f.Missed()) }

// Missed returns the lines that did not run.
func (f FileCoverage) Missed() (lines []int) {
	for _, line := range slices.Sorted(maps.Keys(f.Lines)) {
		if f.Lines[line] == 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// Files returns the coverage of all files, sorted by path.
func (c *Coverage) Files() (list []FileCoverage) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(c.files)) {
		list = append(list, FileCoverage{Path: path, Lines: maps.Clone(c.files[path])})
	}
	return list
}

// shortPath returns a path relative to the working directory, if it is inside.
func shortPath(path string) string {
	if strings.HasPrefix(path, script.ShippedPrefix) {
		return path
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	dir, err := os.Getwd()
	if err != nil {
		return abs
	}
	if short, err := filepath.Rel(dir, abs); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return abs
}

// LinesText formats line numbers in short form: 3, 7-9.
func LinesText(lines []int) string {
	var parts []string
	for i := 0; i < len(lines); {
		j := i
		for j+1 < len(lines) && lines[j+1] == lines[j]+1 {
			j++
		}
		part := strconv.Itoa(lines[i])
		if j > i {
			part += "-" + strconv.Itoa(lines[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// WriteLCOV writes coverage in the format of lcov.
func WriteLCOV(to io.Writer, files []FileCoverage) error {
	for _, f := range files {
		var b strings.Builder
		fmt.Fprintf(&b, "TN:\nSF:%s\n", f.Path)
		for _, line := range slices.Sorted(maps.Keys(f.Lines)) {
			fmt.Fprintf(&b, "DA:%d,%d\n", line, f.Lines[line])
		}
		fmt.Fprintf(&b, "LF:%d\nLH:%d\nend_of_record\n", len(f.Lines), f.Covered())
		if _, err := io.WriteString(to, b.String()); err != nil {
			return err
		}
	}
	return nil
}
