package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"sync"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/values"
)

// maxCallDepth is how many JavaScript calls may be open at once. Deeper
// recursion is an error that scripts cannot catch. The engine takes time that
// grows with the square of the depth to get out of calls from Go.
const maxCallDepth = 3000

// exitHandlersTimeout is what functions of atExit get after the end of the context.
const exitHandlersTimeout = 10 * time.Second

// StuckTimeout is what a program gets to stop after the end of its context before
// Options.Stuck is called: longer than one match of a regular expression may take.
const StuckTimeout = 5 * time.Second

// Options say what an Engine works with. Runs ask the hooks, which may be nil, for
// what is not JavaScript's own.
type Options struct {
	// Clock is nil for the wall clock.
	Clock          Clock
	Stdout, Stderr io.Writer // nil drops what is written
	// Stdin is what RunFile reads for the path "-"; nil is the process's.
	Stdin io.Reader
	// Color allows escape sequences in what is written.
	Color bool
	// Interactive is true for a prompt: timers go on between inputs, a mistake ends
	// none, and errors belong to the input that made them.
	Interactive bool
	// MemoryLimit is how large the process's heap may grow, in bytes, before the
	// running program is stopped; 0 is a large part of the machine's memory.
	MemoryLimit uint64
	// SafeMemory has nothing read from the private memory of the JavaScript engine
	// (package gojamem): slower, and the same to scripts.
	SafeMemory bool
	// OnStuck is called, from another goroutine, when a program goes on for StuckTimeout
	// after its context has ended, with the cause of that end: it is inside the engine,
	// where only the end of the process can stop it.
	OnStuck func(cause error)
	// Scripts are the scripts that load("shardsh:name") finds; nil for none.
	Scripts fs.FS
	// OnLoad is called with each file that is read as a script or module; may be nil.
	OnLoad func(path string)
	// Cover is called for each program with the places of its statements, and returns a
	// function that is called with the index of each statement before it runs; nil
	// watches none.
	Cover func(lines []Line) (reached func(i int))

	// OnClassMade is called with each global class of BSON values when it is first looked at.
	OnClassMade func(name string, class *goja.Object)
	// Inspect is how values look in messages.
	Inspect func() values.InspectOptions
	// RenderValue renders the value of a statement that was read from a pipe.
	RenderValue func(goja.Value) string
	// BeforeRun sees the text of a program before it runs.
	BeforeRun func(name, text string)
	// RewordMessage gives a better message for one of the engine's own, or nothing.
	RewordMessage func(message string) string
	// SuggestMethod asks for the method that was meant where one that does not exist was
	// called on an expression; empty when nothing is near.
	SuggestMethod func(on, method string) string
	// CheckRun refuses files that are not to be run as scripts or modules; nil takes
	// all.
	CheckRun func(path string) error
	// BuiltinModule makes the built-in module of that name; nil when there is none.
	BuiltinModule func(name string) goja.Value
	// Receivers are how objects of a class are written in help texts, such as
	// "db." for Database.
	Receivers func() map[string]string
}

// Engine is one JavaScript runtime: the programs that run in it, the timers they
// set, the modules they load, the classes they see. It belongs to one goroutine;
// what ends a running program from outside is the context given to [Engine.Eval]
// and its relatives.
type Engine struct {
	cfg     Options
	Clock   Clock
	Runtime *goja.Runtime
	Values  *values.Realm
	// IsLastInput is true if the next program is the last input.
	IsLastInput bool

	// running is held while JavaScript runs, so that Close sees a script that was
	// left behind.
	running sync.Mutex
	ctx     context.Context // of the running call

	Out      Output
	Classes  Classes
	Help     HelpTexts
	Errors   ErrorDescriber
	builtins map[string]goja.Value
	sources  sources
	regexps  regexps
	coverage coverage

	loop                eventLoop
	Modules             *Modules
	unhandledRejections rejections
	awaited             *goja.Promise // the result of the running input
	exitHandlers        []goja.Callable
}

// NewEngine makes an Engine whose global scope has the language, BSON's types and
// timers.
func NewEngine(o Options) *Engine {
	s := &Engine{
		cfg:      o,
		Clock:    o.Clock,
		Runtime:  goja.New(),
		ctx:      context.Background(),
		builtins: make(map[string]goja.Value),
		sources:  make(sources),
		Classes:  Classes{prototypes: make(map[string]*goja.Object)},
	}
	s.Help = HelpTexts{js: s, texts: make(map[*goja.Object]Help)}
	s.Modules = &Modules{js: s}
	if s.Clock == nil {
		s.Clock = wallClock{}
	}
	if s.cfg.Stdout == nil {
		s.cfg.Stdout = io.Discard
	}
	if s.cfg.Stderr == nil {
		s.cfg.Stderr = io.Discard
	}
	s.Out.stdout, s.Out.stderr, s.Out.color = s.cfg.Stdout, s.cfg.Stderr, s.cfg.Color
	s.Out.onClosed, s.Out.warned = s.Abort, make(map[string]bool)
	s.Runtime.SetMaxCallStackSize(maxCallDepth)
	s.Runtime.SetTimeSource(s.Clock.Now)
	s.Runtime.SetPromiseRejectionTracker(s.unhandledRejections.track)
	s.Values = values.Install(s.Runtime, values.Options{
		Now: s.Clock.Now, Warn: func(text string) { s.Out.WarnOnce("Warning: " + text) }, OnGlobalMade: o.OnClassMade,
		SafeMemory: o.SafeMemory,
	})
	s.loop.now, s.loop.sleep, s.loop.onTimerDone = s.Clock.Now, s.sleep, s.handleTimerError
	s.coverage = coverage{rt: s.Runtime, sources: s.sources, register: o.Cover}
	s.Errors = ErrorDescriber{rt: s.Runtime, values: s.Values, sources: s.sources, options: &s.cfg}
	limitGenerators(s.Runtime)
	s.defineTimers()
	s.defineImports()
	s.definePolyfills()
	s.regexps = regexps{js: s}
	s.regexps.define()
	limits{s}.define()
	return s
}

// defineImports defines what translated programs call.
func (s *Engine) defineImports() {
	Define(s.Runtime.GlobalObject(), clarifyGlobal, s.NewFunction(clarifyGlobal, func(c *Call) goja.Value {
		if e := c.Object(0); e != nil {
			s.Errors.newClarifier().clarify(e)
		}
		return nil
	}))
	// What concatenateExactly calls is plain: it is called often.
	Define(s.Runtime.GlobalObject(), textGlobal, s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		return s.Values.ConcatOperand(call.Argument(0))
	}))
	defineAppend(s.Values)
	defineSharing(s.Runtime)
	Define(s.Runtime.GlobalObject(), importGlobal,
		s.NewFunction(importGlobal, func(c *Call) goja.Value { return c.importModule() }))
}

// Result is what an input evaluated to.
type Result struct {
	Value goja.Value
}

// Undefined reports whether there is nothing to show.
func (r Result) Undefined() bool { return r.Value == nil || goja.IsUndefined(r.Value) }

// Eval runs source as one program in the global scope all inputs share. The
// name stands for it in errors. The end of ctx stops the script; neither catch
// nor finally see that. Timers the program set run before Eval returns, except
// that a prompt does not wait for those beyond its result.
//
// Errors are *Error, *ExitError for quit(), and the cause of ctx.
func (s *Engine) Eval(ctx context.Context, name, source string) (Result, error) {
	v, err := s.RunProtected(ctx, func() (goja.Value, error) {
		if err := s.reportRejections(); err != nil { // what showing the last result left
			return nil, err
		}
		v, err := s.runText(name, source, false)
		if err == nil {
			v, err = s.Settle(v)
		}
		if told := s.reportRejections(); err == nil {
			err = told
		}
		if err != nil {
			return nil, err
		}
		return v, nil
	})
	s.rememberLastResult(v, err)
	if err != nil {
		return Result{}, err
	}
	return Result{Value: v}, nil
}

// rememberLastResult stores the last result and the last error of a REPL under the names
// they have there (rules/04-command-line-and-prompt §2.3).
func (s *Engine) rememberLastResult(v goja.Value, err error) {
	if !s.cfg.Interactive {
		return
	}
	global := s.Runtime.GlobalObject()
	var script *Error
	switch {
	case err == nil && v != nil:
		Define(global, "_", v)
	case errors.As(err, &script) && script.value != nil:
		Define(global, "_error", script.value)
	}
}

// RunFile runs a script. "-" is Options.Stdin, whose top-level expressions are
// shown as they come, as heredocs expect (rules/04-command-line-and-prompt §1.9).
func (s *Engine) RunFile(ctx context.Context, path string) (Result, error) {
	if path == "-" {
		text, err := io.ReadAll(s.Stdin())
		if err != nil {
			return Result{}, fmt.Errorf("standard input: %w", err)
		}
		_, err = s.RunProtected(ctx, func() (goja.Value, error) { return nil, s.runShowingValues("<stdin>", string(text)) })
		return Result{}, err
	}
	v, err := s.RunProtected(ctx, func() (goja.Value, error) {
		v, err := s.Modules.Load(path)
		if err != nil {
			return nil, err
		}
		return s.Settle(v)
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Value: v}, nil
}

// Stdin returns what scripts read.
func (s *Engine) Stdin() io.Reader {
	if s.cfg.Stdin != nil {
		return s.cfg.Stdin
	}
	return os.Stdin
}

// RunProtected runs a function that may run JavaScript: it lets
// ctx stop it and converts any error to one of this package.
func (s *Engine) RunProtected(ctx context.Context, run func() (goja.Value, error)) (goja.Value, error) {
	s.running.Lock()
	defer s.running.Unlock()
	return s.runInterruptibly(ctx, run)
}

// runInterruptibly is RunProtected for callers that hold the lock running.
func (s *Engine) runInterruptibly(ctx context.Context, run func() (goja.Value, error)) (v goja.Value, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	inside, leave := withoutDeadline(ctx)
	defer leave()
	s.ctx, s.Errors.cause = inside, nil
	var interrupting sync.WaitGroup
	var stuck *time.Timer
	interrupting.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer interrupting.Done()
		s.Runtime.Interrupt(context.Cause(ctx))
		if s.cfg.OnStuck != nil {
			stuck = time.AfterFunc(StuckTimeout, func() { s.cfg.OnStuck(context.Cause(ctx)) })
		}
	})
	unwatch := watchMemory(s.cfg.memoryLimit(), s.Runtime.Interrupt)
	defer func() {
		if !stop() {
			interrupting.Wait()
		}
		if stuck != nil {
			stuck.Stop()
		}
		unwatch()
		s.Runtime.ClearInterrupt()
		if p := recover(); p != nil {
			v, err = nil, s.Errors.describeFault(p)
		}
		if err != nil {
			if !s.cfg.Interactive || ctx.Err() != nil { // at a prompt a mistake ends no timers
				s.loop.clear()
			}
			err = s.Errors.toPublic(err)
		}
		s.ctx, s.Errors.cause = context.Background(), nil
	}()
	return run()
}

// withoutDeadline returns a context that is canceled when ctx ends, by its deadline too:
// the driver turns deadlines into a maxTimeMS of its own, beside the one a command
// may have, and aborts what it reads only when its context is canceled.
func withoutDeadline(ctx context.Context) (inside context.Context, leave func()) {
	inside, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return inside, func() {
		stop()
		cancel(nil)
	}
}

// ErrRunning is Close's answer while a script runs.
var ErrRunning = errors.New("a script is running")

// Close runs what scripts registered with atExit. They run however the program
// ends: when that is the end of ctx they have exitHandlersTimeout.
//
// A script that was left behind while it ran, by somebody who would not wait for
// it, keeps the runtime to itself: the error is ErrRunning then.
func (s *Engine) Close(ctx context.Context) error {
	if !s.running.TryLock() {
		return ErrRunning
	}
	defer s.running.Unlock()
	if ctx.Err() != nil && len(s.exitHandlers) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), exitHandlersTimeout)
		defer cancel()
	}
	var errs []error
	code := s.Runtime.ToValue(s.exitCode())
	for len(s.exitHandlers) > 0 {
		last := len(s.exitHandlers) - 1
		exit := s.exitHandlers[last]
		s.exitHandlers = s.exitHandlers[:last]
		_, err := s.runInterruptibly(ctx, func() (goja.Value, error) { return exit(goja.Undefined(), code) })
		var quit *ExitError
		if !errors.As(err, &quit) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// SetGlobal defines a global: a string, number, bool, or a slice of strings. It is for
// --set and scriptArgs.
func (s *Engine) SetGlobal(name string, value any) error {
	if list, ok := value.([]string); ok {
		items := make([]any, len(list))
		for i, v := range list {
			items[i] = v
		}
		value = s.Runtime.NewArray(items...)
	}
	return s.Runtime.GlobalObject().Set(name, value)
}

// ExitCode returns what the script left in process.exitCode: 0 when it left
// nothing, 1 for what is not an exit code. It is 0 while a script runs.
func (s *Engine) ExitCode() int {
	if !s.running.TryLock() {
		return 0
	}
	defer s.running.Unlock()
	return s.exitCode()
}

func (s *Engine) exitCode() int {
	process, ok := s.builtins["process"].(*goja.Object)
	if !ok {
		return 0
	}
	v := process.Get("exitCode")
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return 0
	}
	if code := v.ToFloat(); code == math.Trunc(code) && code >= 0 && code <= 255 {
		return int(code)
	}
	s.Out.Warn("process.exitCode " + v.String() + " is not between 0 and 255")
	return 1
}

// AtExit has a function called with the exit code when the shell is closed, the
// last one first.
func (s *Engine) AtExit(f goja.Callable) { s.exitHandlers = append(s.exitHandlers, f) }

// Context is that of the running call.
func (s *Engine) Context() context.Context { return s.ctx }
