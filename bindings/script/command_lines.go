package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
)

// directCommands are the words that start a command line instead of JavaScript, unless a parenthesis
// follows (rules/04-command-line-and-prompt §2.4).
var directCommands = []string{"use", "show", "it", "exit", "quit", "cls", "edit", "snippet"}

var commandLine = regexp.MustCompile(`^\s*([a-z]+)\s+([^\s(=].*?)\s*;?\s*$`)

var memberPath = regexp.MustCompile(`^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$`)

// parseCommands parses a program after replacing its command lines by calls. A line is a command line
// only if it has a syntax error and everything before it is complete. Continuation lines and the inside
// of comments and templates are therefore no commands.
func (p *program) parseCommands(name, text string, err error) (*ast.Program, error) {
	for range strings.Count(text, "\n") + 1 {
		bad, ok := firstError(err)
		if !ok {
			return nil, err
		}
		start, end := lineBounds(text, bad.Position.Line)
		call, ok, usage := commandCall(text[start:end])
		if !ok || !isComplete(text[:start]) {
			return nil, err
		}
		if usage != nil {
			return nil, usage
		}
		if p.directCommandLines == nil {
			p.directCommandLines = make(map[int]bool)
		}
		p.directCommandLines[bad.Position.Line] = true
		text = text[:start] + call + text[end:]
		var tree *ast.Program
		if tree, err = parseScript(name, text); err == nil {
			return tree, nil
		}
	}
	return nil, err
}

func isComplete(text string) bool {
	_, err := parseScript("", text)
	return err == nil
}

// lineBounds returns the offsets of line n, counted from 1, without its line end.
func lineBounds(text string, n int) (start, end int) {
	for ; n > 1; n-- {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			break
		}
		start += i + 1
	}
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		return start, start + i
	}
	return start, len(text)
}

// usageError is a command line with wrong arguments.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

// commandCall returns the call that a command line stands for.
func commandCall(line string) (call string, ok bool, usage error) {
	m := commandLine.FindStringSubmatch(line)
	if m != nil && m[1] == "help" && memberPath.MatchString(m[2]) {
		return m[2] + ".help()", true, nil // "help sh", as in the old shell
	}
	if m == nil || !slices.Contains(directCommands, m[1]) {
		return "", false, nil
	}
	words := strings.Fields(m[2])
	if m[1] == "use" && len(words) > 1 {
		return "", true, &usageError{fmt.Sprintf("use takes one name, not %q", m[2])}
	}
	for i, w := range words {
		words[i] = strconv.Quote(w)
	}
	return m[1] + "(" + strings.Join(words, ", ") + ")", true, nil
}

// expandBareCommands converts command words that are alone on a line into calls, such as "exit" in a
// heredoc. isBuiltin reports whether a name still has the value that the shell defined.
func (p *program) expandBareCommands(isBuiltin func(name string) bool) {
	for _, st := range p.tree.Body {
		exp, ok := st.(*ast.ExpressionStatement)
		if !ok {
			continue
		}
		word, ok := exp.Expression.(*ast.Identifier)
		if !ok || word.Name == "it" || p.declares(word) || !slices.Contains(directCommands, word.Name.String()) ||
			!isBuiltin(word.Name.String()) {
			continue
		}
		exp.Expression = &ast.CallExpression{Callee: word, LeftParenthesis: word.Idx1(), RightParenthesis: word.Idx1()}
	}
}

// declares reports whether the program itself declares a name.
func (p *program) declares(word *ast.Identifier) bool {
	for _, d := range p.tree.DeclarationList {
		for _, b := range d.List {
			if name, ok := b.Target.(*ast.Identifier); ok && name.Name == word.Name {
				return true
			}
		}
	}
	for _, st := range p.tree.Body {
		if f, ok := st.(*ast.FunctionDeclaration); ok && f.Function.Name.Name == word.Name {
			return true
		}
	}
	return false
}

// makeCommandsPrint makes command lines whose result is not shown print their result. all includes the
// last statement.
func (p *program) makeCommandsPrint(all bool) {
	for i, st := range p.tree.Body {
		exp, ok := st.(*ast.ExpressionStatement)
		if !ok || !p.directCommandLines[p.lineOf(st)] || i == len(p.tree.Body)-1 && !all {
			continue
		}
		call, ok := exp.Expression.(*ast.CallExpression)
		if !ok {
			continue
		}
		name, ok := call.Callee.(*ast.Identifier)
		if !ok || name.Name != "show" {
			continue
		}
		exp.Expression = &ast.CallExpression{
			Callee:           &ast.DotExpression{Left: call, Identifier: *identifier("print", call.Idx1())},
			LeftParenthesis:  call.Idx1(),
			RightParenthesis: call.Idx1(),
		}
	}
}
