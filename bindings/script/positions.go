package script

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// sources are the programs that ran, by name: places in errors refer to them.
type sources map[string]source

// source is what positions of a program refer to.
type source struct {
	lines string
	// name is what the user calls the file, where positions call it by its path.
	name string
	// shift is how many columns the first line was pushed right by wrapping.
	shift int
	// tree is the program, and places what may fail in it; nil until asked for.
	tree  *ast.Program
	spots spotsByPosition
}

func (t source) line(n int) string {
	for i, line := range strings.Split(t.lines, "\n") {
		if i+1 == n {
			return strings.TrimRight(line, "\r")
		}
	}
	return ""
}

// stackText lists calls as Node does.
func (s sources) stackText(frames []goja.StackFrame) string {
	lines := make([]string, len(frames))
	for i, f := range frames {
		name, pos := f.FuncName(), s.calleePosition(s.framePosition(f))
		switch {
		case pos.Line == 0:
			lines[i] = fmt.Sprintf("    at %s (native)", name)
		case name == "":
			lines[i] = fmt.Sprintf("    at %s:%d:%d", pos.Filename, pos.Line, pos.Column)
		default:
			lines[i] = fmt.Sprintf("    at %s (%s:%d:%d)", name, pos.Filename, pos.Line, pos.Column)
		}
	}
	return strings.Join(lines, "\n")
}

// framePosition returns where a frame is in the text the user wrote.
func (s sources) framePosition(f goja.StackFrame) file.Position {
	pos := f.Position()
	if pos.Filename != f.SrcName() {
		pos.Filename = UnescapeSourceName(pos.Filename)
	}
	return pos
}

// locate sets the position of an error to the innermost frame in user code.
func (s sources) locate(e *Error, stack []goja.StackFrame) {
	for _, f := range stack {
		pos := s.calleePosition(s.framePosition(f))
		if _, ok := s[pos.Filename]; !ok || pos.Line == 0 {
			continue
		}
		e.File, e.Line, e.Column = pos.Filename, pos.Line, pos.Column
		s.fixPosition(e)
		return
	}
}

// locateIn is locate for errors of which only the text of the stack is left.
func (s sources) locateIn(e *Error, stack string) {
	for _, m := range stackLine.FindAllStringSubmatch(stack, -1) {
		pos := stackPosition(m)
		if _, ok := s[pos.Filename]; !ok {
			continue
		}
		pos = s.calleePosition(pos)
		e.File, e.Line, e.Column = pos.Filename, pos.Line, pos.Column
		s.fixPosition(e)
		return
	}
}

// fixPosition corrects the columns of wrapped programs and adds the source line.
func (s sources) fixPosition(e *Error) {
	src, ok := s[e.File]
	if !ok {
		return
	}
	if src.name != "" {
		e.File = src.name
	}
	if e.Line == 1 {
		e.Column = max(1, e.Column-src.shift)
	}
	e.SourceLine = src.line(e.Line)
}

// originalPosition returns a position whose file may come from a source map.
func originalPosition(in *file.File, pos file.Position) file.Position {
	if pos.Filename != in.Name() {
		pos.Filename = UnescapeSourceName(pos.Filename)
	}
	return pos
}

// UnescapeSourceName unescapes file names that the engine has escaped in source maps.
func UnescapeSourceName(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// stackPosition returns the place in a match of stackLine.
func stackPosition(m []string) file.Position {
	line, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3])
	return file.Position{Filename: m[1], Line: line, Column: column}
}

// stackLine is a line of the engine's stacks: a name or none, and a place.
var stackLine = regexp.MustCompile(`(?m)^\s*at (?:.* \()?(.+?):(\d+):(\d+)\(\d+\)\)?$`)

// spotsAt returns the expressions at a place; the list is made when an error
// first asks for it.
func (s sources) spotsAt(at file.Position) []failureSpot {
	src, ok := s[at.Filename]
	if !ok || src.tree == nil {
		return nil
	}
	if src.spots == nil {
		src.spots = indexSpots(src.tree)
		s[at.Filename] = src
	}
	return src.spots[at]
}

// calleePosition returns the place of what is called, for one of a call's parenthesis.
func (s sources) calleePosition(at file.Position) file.Position {
	for _, sp := range s.spotsAt(at) {
		if _, ok := sp.node.(*ast.CallExpression); ok {
			return sp.position
		}
	}
	return at
}
