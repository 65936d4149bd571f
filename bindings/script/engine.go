package script

import (
	"cmp"
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

// maxCallDepth is the maximum depth of JavaScript calls. Deeper recursion is an error that scripts
// cannot catch. To unwind calls through Go functions, the engine needs time that grows with the square
// of the depth.
const maxCallDepth = 3000

// exitHandlersTimeout is how long functions of atExit may run after the end of the context.
const exitHandlersTimeout = 10 * time.Second

// StuckTimeout is how long a program may continue after the end of its context before Options.OnStuck
// is called. It is longer than one match of a regular expression may take.
const StuckTimeout = 5 * time.Second

// Options are the options of an Engine. The callbacks may be nil.
type Options struct {
	// Clock is nil for the wall clock.
	Clock          Clock
	Stdout, Stderr io.Writer // nil discards the output
	// Stdin is the input that RunFile reads for the path "-"; nil is the process's.
	Stdin io.Reader
	// Color allows escape sequences in the output.
	Color bool
	// Interactive is true for a REPL: timers continue between inputs, an error does not stop them, and
	// errors belong to the input that caused them.
	Interactive bool
	// MemoryLimit is the maximum heap size of the process in bytes; the running program is stopped
	// beyond it. 0 means a large part of the machine's memory.
	MemoryLimit uint64
	// SafeMemory disables reads of the JavaScript engine's private memory (package gojamem). Scripts
	// are slower, and behave the same.
	SafeMemory bool
	// OnStuck is called, from another goroutine, when a program continues for StuckTimeout after its
	// context has ended, with the cause of the end. Such a program is inside the engine, where only the
	// end of the process can stop it.
	OnStuck func(cause error)
	// StuckTimeout is how long OnStuck waits; 0 means the constant.
	StuckTimeout time.Duration
	// Scripts are the scripts that load("shardsh:name") finds; nil for none.
	Scripts fs.FS
	// OnLoad is called with each file that is read as a script or module. It may be nil.
	OnLoad func(path string)
	// Cover is called for each program with the positions of its statements. It returns a function that
	// is called with the index of each statement before the statement runs; nil disables coverage.
	Cover func(lines []Line) (reached func(i int))

	// OnClassMade is called with each global class of BSON values on its first access.
	OnClassMade func(name string, class *goja.Object)
	// Inspect returns the options for values in messages.
	Inspect func() values.InspectOptions
	// RenderValue renders the value of a statement that was read from a pipe.
	RenderValue func(goja.Value) string
	// BeforeRun is called with the text of a program before it runs.
	BeforeRun func(name, text string)
	// RewordMessage returns a better message for one of the engine's own, or an empty string.
	RewordMessage func(message string) string
	// SuggestMethod suggests a method after a call of a missing method on an expression; empty if no
	// name is near.
	SuggestMethod func(on, method string) string
	// CheckMayRun returns an error for files that must not be run as scripts or modules; nil allows all
	// files.
	CheckMayRun func(path string) error
	// BuiltinModule returns the built-in module with a name; nil when there is none.
	BuiltinModule func(name string) goja.Value
	// ReceiverNames returns how help texts name an object of each class, such as "db." for Database.
	ReceiverNames func() map[string]string
}

// Engine is one JavaScript runtime with its programs, timers, modules and classes. It belongs to one
// goroutine. To end a running program from outside, cancel the context given to [Engine.Eval] and
// related methods.
type Engine struct {
	cfg     Options
	Clock   Clock
	Runtime *goja.Runtime
	Values  *values.Realm
	// IsLastInput says that the next program is the last input.
	IsLastInput bool

	// runMu is held while JavaScript runs, so that Close can detect a script that still runs.
	runMu sync.Mutex
	ctx   context.Context // of the current call

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

// NewEngine returns an Engine whose global scope has the language, the BSON types and timers.
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
	s.defineHiddenGlobals()
	s.definePolyfills()
	s.regexps = regexps{js: s}
	s.regexps.define()
	limits{s}.define()
	return s
}

// defineHiddenGlobals defines the hidden globals that translated programs call.
func (s *Engine) defineHiddenGlobals() {
	Define(s.Runtime.GlobalObject(), clarifyGlobal, s.NewFunction(clarifyGlobal, func(c *Call) goja.Value {
		if e := c.Object(0); e != nil {
			s.Errors.newClarifier().clarify(e)
		}
		return nil
	}))
	// The global for keepDigitsInText is a plain function, because it is called often.
	Define(s.Runtime.GlobalObject(), textGlobal, s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		return s.Values.ConcatOperand(call.Argument(0))
	}))
	defineAppend(s.Values)
	defineSharing(s.Runtime)
	Define(s.Runtime.GlobalObject(), importGlobal,
		s.NewFunction(importGlobal, func(c *Call) goja.Value { return c.importModule() }))
}

// Result is the value of an input.
type Result struct {
	Value goja.Value
}

// IsUndefined reports whether there is no value to show.
func (r Result) IsUndefined() bool { return r.Value == nil || goja.IsUndefined(r.Value) }

// Eval runs source as one program in the global scope that all inputs share. name is the program's name
// in errors. The end of ctx stops the script; neither catch nor finally clauses run then. Timers that
// the program set run before Eval returns, except that an interactive engine does not wait for those
// beyond its result.
//
// Errors are *Error, *ExitError for quit(), and the cause of ctx.
func (s *Engine) Eval(ctx context.Context, name, source string) (Result, error) {
	v, err := s.RunProtected(ctx, func() (goja.Value, error) {
		if err := s.reportRejections(); err != nil { // from showing the last result
			return nil, err
		}
		v, err := s.runText(name, source, false)
		if err == nil {
			v, err = s.AwaitResult(v)
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

// rememberLastResult stores the last result and the last error of a REPL in their globals
// (rules/04-command-line-and-prompt §2.3).
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

// RunFile runs a script. For "-" it reads Options.Stdin, and shows the values of top-level expressions
// as they are evaluated, as heredocs expect (rules/04-command-line-and-prompt §1.9).
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
		return s.AwaitResult(v)
	})
	if err != nil {
		return Result{}, err
	}
	return Result{Value: v}, nil
}

// Stdin returns the input of scripts.
func (s *Engine) Stdin() io.Reader {
	if s.cfg.Stdin != nil {
		return s.cfg.Stdin
	}
	return os.Stdin
}

// RunProtected runs a function that may run JavaScript. The end of ctx stops it, and any error is
// converted to one of this package.
func (s *Engine) RunProtected(ctx context.Context, run func() (goja.Value, error)) (goja.Value, error) {
	s.runMu.Lock()
	defer s.runMu.Unlock()
	return s.runInterruptibly(ctx, run)
}

// runInterruptibly works like RunProtected, for callers that hold runMu.
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
			stuck = time.AfterFunc(cmp.Or(s.cfg.StuckTimeout, StuckTimeout), func() { s.cfg.OnStuck(context.Cause(ctx)) })
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
			v, err = nil, s.Errors.describePanic(p)
		}
		if err != nil {
			if !s.cfg.Interactive || ctx.Err() != nil { // in a REPL, an error does not stop timers
				s.loop.clear()
			}
			err = s.Errors.convertError(err)
		}
		s.ctx, s.Errors.cause = context.Background(), nil
	}()
	return run()
}

// withoutDeadline returns a context without a deadline that is canceled when ctx ends. The driver
// converts deadlines to its own maxTimeMS in addition to that of the command, and aborts reads only
// when its context is canceled.
func withoutDeadline(ctx context.Context) (inside context.Context, leave func()) {
	inside, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return inside, func() {
		stop()
		cancel(nil)
	}
}

// ErrRunning is the error of Close while a script runs.
var ErrRunning = errors.New("a script is running")

// Close runs the functions that scripts registered with atExit, however the program ended. If ctx has
// ended, they have exitHandlersTimeout.
//
// Close returns ErrRunning if a script still runs that its caller has abandoned, because the script
// occupies the runtime.
func (s *Engine) Close(ctx context.Context) error {
	if !s.runMu.TryLock() {
		return ErrRunning
	}
	defer s.runMu.Unlock()
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

// SetGlobal defines a global: a string, number, bool, or a slice of strings, for --set and scriptArgs.
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

// ExitCode returns the script's process.exitCode: 0 if it is not set, 1 if it is no valid exit code. It
// returns 0 while a script runs.
func (s *Engine) ExitCode() int {
	if !s.runMu.TryLock() {
		return 0
	}
	defer s.runMu.Unlock()
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

// AtExit registers a function that is called with the exit code when the shell is closed. The last one
// registered runs first.
func (s *Engine) AtExit(f goja.Callable) { s.exitHandlers = append(s.exitHandlers, f) }

// Context returns the context of the current call.
func (s *Engine) Context() context.Context { return s.ctx }
