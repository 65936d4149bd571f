package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"
	"github.com/evanw/esbuild/pkg/api"
)

// transpiledCode is a program translated to JavaScript that the engine supports, with the mapping to
// the original text.
type transpiledCode struct {
	code string
	// sourceMap is a source map in EJSONText, version 3.
	sourceMap []byte
	// sourceLineShift is how many lines precede the text.
	sourceLineShift int
}

// transpileError is a syntax error, with its position in the original text.
type transpileError struct {
	message, file, lineText string
	line, column            int // from 1
}

func (e *transpileError) Error() string { return e.message }

// supportedFeatures returns which features the engine can run of those that esbuild translates
// (rules/04-values-and-language §4.3).
func supportedFeatures() map[string]bool {
	return map[string]bool{
		"for-await": false, "async-generator": false, "dynamic-import": false, "import-meta": false,
		"class-private-brand-check": false,
		"decorators":                false, "using": false, "import-attributes": false, "top-level-await": true,
	}
}

// mayNeedTranspiling reports quickly whether a text that the engine rejects may use a feature that it does not
// support.
func mayNeedTranspiling(text string) bool {
	return regexp.MustCompile(`\b(import|export)\b|\bfor\s+await\b`).MatchString(text)
}

// hasUncompilableSyntax finds syntax that the engine parses but cannot compile: async generators and
// "#name in object".
func hasUncompilableSyntax(text string) bool {
	return strings.Contains(text, "async") && regexp.MustCompile(`\basync\s*(function\b\s*)?\*`).MatchString(text) ||
		strings.Contains(text, "#") && regexp.MustCompile(`#[\w$]+\s+in\b`).MatchString(text)
}

func isTypeScript(name string) bool {
	ext := filepath.Ext(name)
	return ext == ".ts" || ext == ".mts" || ext == ".cts"
}

// transpile translates one text, without its imports.
func transpile(name, text string) (*transpiledCode, error) {
	loader := api.LoaderJS
	if isTypeScript(name) {
		loader = api.LoaderTS
	}
	r := api.Transform(text, api.TransformOptions{
		Loader: loader, Format: api.FormatESModule, Supported: supportedFeatures(), Platform: api.PlatformNode,
		Charset:    api.CharsetUTF8,
		Sourcefile: name, Sourcemap: api.SourceMapExternal, LogLevel: api.LogLevelSilent,
		LegalComments: api.LegalCommentsNone,
	})
	if len(r.Errors) > 0 {
		return nil, transpileFailure(name, r.Errors[0])
	}
	code := string(r.Code)
	if strings.HasPrefix(code, "#!") {
		code = "//" + code[2:]
	}
	return &transpiledCode{code: code, sourceMap: r.Map}, nil
}

// transpileWrapped translates a text without imports and exports as the body of a function: at the top
// level, the transpiler's own variables could clash with those of the text.
func transpileWrapped(name, text string) (*transpiledCode, bool) {
	if strings.HasPrefix(text, "#!") {
		text = "//" + text
	}
	t, err := transpile(name, "(async()=>{\n"+text+"\n})()")
	if err != nil {
		return nil, false
	}
	t.sourceLineShift = 1
	return t, true
}

func transpileFailure(name string, m api.Message) error {
	e := &transpileError{message: m.Text, file: name}
	if at := m.Location; at != nil {
		e.line, e.column, e.lineText = at.Line, at.Column+1, at.LineText
	}
	return e
}

// transpileFailsAtEnd reports whether the translation failed at the end of the text.
func transpileFailsAtEnd(err error) bool {
	var e *transpileError
	return errors.As(err, &e) && e.message == "Unexpected end of file" ||
		e != nil && strings.Contains(e.message, "but found end of file")
}

// isModule reports whether a translated text has imports or exports.
func (t *transpiledCode) isModule() bool {
	return regexp.MustCompile(`(?m)^(import|export) `).MatchString(t.code)
}

// importStatement returns a pattern for import statements in the transpiler's output.
func importStatement() *regexp.Regexp {
	return regexp.MustCompile(`(?ms)^import (?:([\w$]+)(?:, | from ))?(?:\* as ([\w$]+) from |\{([^}]*)\} from ` +
		`)?("(?:[^"\\\n]|\\.)*")(?: with \{[^}]*\})?;$`)
}

// importGlobal is the hidden global that import statements of inputs call.
const importGlobal = "__import"

// rewriteImports converts import statements to declarations, so that the next input can use the imports
// of an input.
func (t *transpiledCode) rewriteImports() {
	t.code = importStatement().ReplaceAllStringFunc(t.code, func(st string) string {
		m := importStatement().FindStringSubmatch(st)
		load := "await " + importGlobal + "(" + m[4] + ")"
		names := strings.ReplaceAll(m[3], " as ", ": ")
		if m[1] != "" {
			names = "default: " + m[1] + ", " + names
		}
		switch {
		case m[2] != "" && m[1] != "":
			return fmt.Sprintf("var %s = %s, {default: %s} = %s;", m[2], load, m[1], m[2])
		case m[2] != "":
			return "var " + m[2] + " = " + load + ";"
		case names != "":
			return "var {" + names + "} = " + load + ";"
		}
		return load + ";"
	})
}

// transpiledProgram works like parseProgram, for texts that the engine does not support.
func transpiledProgram(name, text string) (*program, error) {
	p := &program{source: source{text: text}}
	t, wrapped := transpileWrapped(name, text)
	if !wrapped {
		var err error
		if t, err = transpile(name, text); err != nil {
			return nil, err
		}
		t.rewriteImports()
		if t.isModule() {
			return nil, &transpileError{message: "export is for files", file: name, line: 1, column: 1,
				lineText: source{text: text}.line(1)}
		}
	}
	var err error
	if wrapped {
		p.tree, p.async, err = t.parseWrapped(name)
	} else {
		p.tree, p.async, err = t.parse(name, "()=>{", "})()", nil)
	}
	if err != nil {
		return nil, err
	}
	p.source.tree = p.tree
	prepareTree(p.tree)
	hoistToProgram(p.tree, func(id string) bool {
		return regexp.MustCompile(`(^|[^\w$])` + regexp.QuoteMeta(id) + `($|[^\w$])`).MatchString(text)
	})
	return p, nil
}

// parseWrapped parses the result of transpileWrapped and moves the transpiler's own functions inside.
// The function is async only if necessary.
func (t *transpiledCode) parseWrapped(name string) (tree *ast.Program, async bool, err error) {
	head := regexp.MustCompile(`(?m)^\(async \(\) => \{$`).FindStringIndex(t.code)
	if head == nil {
		return nil, false, errors.New("the translation has no function around it")
	}
	plain := &transpiledCode{code: t.code[:head[0]] + "(() => {" + t.code[head[1]:], sourceMap: t.sourceMap,
		sourceLineShift: t.sourceLineShift}
	for _, version := range []*transpiledCode{plain, t} {
		async = version == t
		if tree, err = version.parseText(name, version.code, 0, nil); err == nil {
			break
		}
	}
	if err != nil {
		return nil, false, err
	}
	last := len(tree.Body) - 1
	arrow := tree.Body[last].(*ast.ExpressionStatement).Expression.(*ast.CallExpression).Callee.(*ast.ArrowFunctionLiteral)
	block := arrow.Body.(*ast.BlockStatement)
	block.List = append(tree.Body[:last:last], block.List...)
	arrow.DeclarationList = append(arrow.DeclarationList, tree.DeclarationList...)
	tree.Body, tree.DeclarationList = tree.Body[last:], nil
	return tree, async, nil
}

// parse parses the code inside a function, which is async if necessary. rename converts file names.
func (t *transpiledCode) parse(name, head, tail string, rename func(string) string) (tree *ast.Program, async bool,
	err error) {
	for _, prefix := range []string{"(", "(async "} {
		async = prefix != "("
		tree, err = t.parseText(name, prefix+head+"\n"+t.code+"\n"+tail, 1, rename)
		if err == nil {
			break
		}
	}
	return tree, async, err
}

// parseText parses a text with some lines before the translated code.
func (t *transpiledCode) parseText(name, text string, linesBefore int, rename func(string) string) (*ast.Program,
	error) {
	mapped, err := t.mapForEngine(linesBefore, rename)
	if err != nil {
		return nil, err
	}
	load := func(string) ([]byte, error) { return mapped, nil }
	return parser.ParseFile(nil, name, text+"\n//# sourceMappingURL=map", 0, parser.WithSourceMapLoader(load))
}

// mapForEngine adapts the source map to the lines before the code and to the engine, which counts
// columns from 1 while source maps count from 0.
func (t *transpiledCode) mapForEngine(linesBefore int, rename func(string) string) ([]byte, error) {
	var m map[string]any
	if err := json.Unmarshal(t.sourceMap, &m); err != nil {
		return nil, fmt.Errorf("source map: %w", err)
	}
	mappings, _ := m["mappings"].(string)
	m["mappings"] = strings.Repeat(";", linesBefore) + shiftMappings(mappings, t.sourceLineShift)
	delete(m, "sourcesContent")
	if sources, ok := m["sources"].([]any); ok && rename != nil {
		for i, s := range sources {
			if name, ok := s.(string); ok {
				sources[i] = rename(name)
			}
		}
	}
	return json.Marshal(m)
}

// shiftMappings shifts every column right by one and the original lines up. All numbers are relative to
// the previous segment; the columns of the translation restart on each line.
func shiftMappings(mappings string, up int) string {
	lines := strings.Split(mappings, ";")
	first := true
	for i, line := range lines {
		if line == "" {
			continue
		}
		segment, rest, more := strings.Cut(line, ",")
		fields := vlqDecode(segment)
		fields[0]++
		if first && len(fields) >= 4 {
			fields[2] -= up
			fields[3]++
			first = false
		}
		lines[i] = vlqEncode(fields)
		if more {
			lines[i] += "," + rest
		}
	}
	return strings.Join(lines, ";")
}

const vlqDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func vlqDecode(text string) []int {
	var fields []int
	value, shift := 0, 0
	for _, c := range text {
		d := strings.IndexRune(vlqDigits, c)
		value |= d & 31 << shift
		shift += 5
		if d&32 != 0 {
			continue
		}
		if value&1 != 0 {
			fields = append(fields, -(value >> 1))
		} else {
			fields = append(fields, value>>1)
		}
		value, shift = 0, 0
	}
	return fields
}

func vlqEncode(fields []int) string {
	var b strings.Builder
	for _, f := range fields {
		v := f << 1
		if f < 0 {
			v = -f<<1 | 1
		}
		for v > 31 {
			b.WriteByte(vlqDigits[v&31|32])
			v >>= 5
		}
		b.WriteByte(vlqDigits[v])
	}
	return b.String()
}
