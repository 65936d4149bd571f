package script

import (
	"fmt"
	"reflect"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// runText runs one program and returns its completion value. A file's value is never shown, so its last
// command line also prints its result.
func (s *Engine) runText(name, text string, isFile bool) (goja.Value, error) {
	p, err := s.prepare(name, text)
	if err != nil {
		return nil, err
	}
	return p.run(s, isFile)
}

// run runs a prepared program.
func (p *program) run(s *Engine, isFile bool) (goja.Value, error) {
	p.makeCommandsPrint(isFile)
	s.useOwnScope(p)
	compiled, err := p.compile()
	if err != nil {
		return nil, err
	}
	return s.Runtime.RunProgram(compiled)
}

func (s *Engine) prepare(name, text string) (*program, error) {
	p, err := parseProgram(name, text)
	s.sources[name] = source{text: text}
	if err != nil {
		return nil, err
	}
	s.sources[name] = p.source
	s.coverage.instrument(p.tree)
	if err := s.regexps.expand(p.tree); err != nil {
		return nil, err
	}
	p.expandBareCommands(s.isUnchangedBuiltin)
	if s.cfg.BeforeRun != nil {
		s.cfg.BeforeRun(name, text)
	}
	return p, nil
}

// runShowingValues runs a program statement by statement and shows the value of each expression.
func (s *Engine) runShowingValues(name, text string) error {
	p, err := s.prepare(name, text)
	if err != nil {
		return err
	}
	show := func(v goja.Value) error {
		text, err := s.Try(func() string { return s.cfg.RenderValue(v) })
		if err != nil || text == "" {
			return err
		}
		_, err = fmt.Fprintln(s.cfg.Stdout, text)
		return err
	}
	if p.async {
		v, err := p.run(s, false)
		if err == nil {
			v, err = s.AwaitResult(v)
		}
		if err != nil {
			return err
		}
		return show(v)
	}
	for i, part := range p.statementPrograms() {
		compiled, err := goja.CompileAST(part, false)
		if err != nil {
			return err
		}
		v, err := s.Runtime.RunProgram(compiled)
		if err != nil {
			return err
		}
		if i == 0 || !showsValue(part) {
			continue
		}
		if v, err = s.AwaitResult(v); err != nil {
			return err
		}
		if err := show(v); err != nil {
			return err
		}
	}
	_, err = s.AwaitResult(goja.Undefined())
	return err
}

// Try runs Go code that may throw, outside of a program.
func (s *Engine) Try(f func() string) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			uncaught, ok := p.(*goja.InterruptedError)
			if !ok {
				panic(p)
			}
			err = uncaught
		}
	}()
	if ex := s.Runtime.Try(func() { text = f() }); ex != nil {
		return "", ex
	}
	return text, nil
}

// AwaitResult runs pending timers and promises of the program and, when its value is a promise, waits for
// the promise. An interactive shell waits for nothing else, because its timers continue between inputs.
func (s *Engine) AwaitResult(v goja.Value) (goja.Value, error) {
	v, err := awaitable(s.Runtime, v)
	if err != nil {
		return nil, err
	}
	promise, ok := AsPromise(v)
	if ok {
		outer := s.awaited
		s.awaited = promise
		defer func() { s.awaited = outer }()
	}
	settled := func() bool { return !ok || promise.State() != goja.PromiseStatePending }
	never := func() bool { return false }
	if s.cfg.Interactive {
		never = settled
		if err := s.loop.runDue(s.Clock.Now()); err != nil {
			return nil, err
		}
	}
	if err := s.loop.drain(never); err != nil {
		return nil, err
	}
	if ok && promise.State() == goja.PromiseStateRejected {
		s.unhandledRejections.remove(promise)
		return nil, &rejection{promise.Result()}
	}
	if err := s.unhandledRejections.popError(); err != nil {
		return nil, err
	}
	if ok && promise.State() == goja.PromiseStateFulfilled {
		return promise.Result(), nil
	}
	return v, nil
}

// AsPromise returns a value as a promise, if it is one.
func AsPromise(v goja.Value) (*goja.Promise, bool) {
	obj, ok := v.(*goja.Object)
	if !ok || obj.ExportType() != reflect.TypeFor[*goja.Promise]() {
		return nil, false
	}
	p, ok := obj.Export().(*goja.Promise)
	return p, ok
}

// showsValue reports whether runShowingValues shows a statement's value.
func showsValue(p *ast.Program) bool {
	if len(p.Body) == 0 {
		return false
	}
	_, ok := p.Body[0].(*ast.ExpressionStatement)
	return ok
}
