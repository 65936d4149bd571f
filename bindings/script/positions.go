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

// sources holds the programs that ran, by name. Positions in errors refer to them.
type sources map[string]source

// source holds the text of a program and the data for its positions.
type source struct {
	text string
	// name is the user's name of the file; positions contain the path.
	name string
	// wrapperColumns is how many columns a wrapper has shifted the first line to the right.
	wrapperColumns int
	// tree is the syntax tree, and spots holds the expressions that may fail; nil until they are
	// needed.
	tree  *ast.Program
	spots spotsByPosition
}

func (s source) line(n int) string {
	i := 0
	for line := range strings.SplitSeq(s.text, "\n") {
		if i++; i == n {
			return strings.TrimRight(line, "\r")
		}
	}
	return ""
}

// stackText formats calls as Node does.
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

// framePosition returns the position of a frame in the user's text.
func (s sources) framePosition(f goja.StackFrame) file.Position {
	pos := f.Position()
	if pos.Filename != f.SrcName() {
		pos.Filename = UnescapeSourceName(pos.Filename)
	}
	return pos
}

// locate sets the position of an error to the innermost frame in the user's code.
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

// locateByStackText works like locate, for errors of which only the text of the stack is available.
func (s sources) locateByStackText(e *Error, stack string) {
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
		e.Column = max(1, e.Column-src.wrapperColumns)
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

// stackPosition returns the position in a match of stackLine.
func stackPosition(m []string) file.Position {
	line, _ := strconv.Atoi(m[2])
	column, _ := strconv.Atoi(m[3])
	return file.Position{Filename: m[1], Line: line, Column: column}
}

// stackLine matches a line of the engine's stacks: an optional name, and a position.
var stackLine = regexp.MustCompile(`(?m)^\s*at (?:.* \()?(.+?):(\d+):(\d+)\(\d+\)\)?$`)

// spotsAt returns the expressions at a position. The index is built when an error first needs it.
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

// calleePosition returns the position of the callee, for the position of a call's parenthesis.
func (s sources) calleePosition(at file.Position) file.Position {
	for _, sp := range s.spotsAt(at) {
		if _, ok := sp.node.(*ast.CallExpression); ok {
			return sp.position
		}
	}
	return at
}
