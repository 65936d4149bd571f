package bindings

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/bindings/values"
)

// maxCallDepth is how many JavaScript calls may be open at once. Deeper
// recursion is an error that scripts cannot catch. The engine takes time that
// grows with the square of the depth to get out of calls from Go.
const maxCallDepth = 3000

// closingTime is what functions of atExit get after the end of the context.
const closingTime = 10 * time.Second

// Shell is one JavaScript runtime with its connection.
type Shell struct {
	cfg   Config
	clock Clock
	rt    *goja.Runtime
	world *values.World

	// running is held while JavaScript runs, so that Close sees a script that was
	// left behind.
	running sync.Mutex
	// ctx is that of the running call; cause is why it was cut short, when the
	// shell itself did that.
	ctx   context.Context
	cause error

	mongo  *mongoObject // the connection db started on; nil without one
	opened connections  // by scripts
	lists  nameLists    // for completion
	// ownProperty is Object.getOwnPropertyDescriptor, for completion.
	ownProperty goja.Callable
	db          *database
	cursor      *cursor // what "it" goes on with
	// sent is where the last command went.
	sent struct {
		on      *mongoObject
		session *mongo.Session
	}

	classes  classes
	builtins map[string]goja.Value
	sources  map[string]source
	warned   map[string]bool
	patterns map[string]string // of regular expressions as written, by what the engine got
	settings settings
	// Of an interactive session: what it lends, what edit left for the next line,
	// and the text edited last.
	console            *Console
	suggestion, edited string
	midLine            atomic.Bool // what was written last has no line end

	loop     eventLoop
	rejected []*goja.Promise // and not handled yet
	awaited  *goja.Promise   // the result of the running input
	exits    []goja.Callable
	dirs     []string // directories of the files being loaded, innermost last
}

// New makes a Shell. It sends nothing.
func New(cfg Config) (*Shell, error) {
	s := &Shell{
		cfg:      cfg,
		clock:    cfg.Clock,
		rt:       goja.New(),
		ctx:      context.Background(),
		builtins: make(map[string]goja.Value),
		sources:  make(map[string]source),
		warned:   make(map[string]bool),
	}
	if s.clock == nil {
		s.clock = wallClock{}
	}
	if s.cfg.Stdout == nil {
		s.cfg.Stdout = io.Discard
	}
	if s.cfg.Stderr == nil {
		s.cfg.Stderr = io.Discard
	}
	if s.cfg.Database == "" {
		s.cfg.Database = "test"
	}
	if !validDatabaseName(s.cfg.Database) {
		return nil, fmt.Errorf("invalid database name: %s", s.cfg.Database)
	}
	s.settings = defaultSettings()
	s.rt.SetMaxCallStackSize(maxCallDepth)
	s.rt.SetTimeSource(s.clock.Now)
	s.rt.SetPromiseRejectionTracker(s.trackRejection)
	s.world = values.Install(s.rt, values.Options{
		Now: s.clock.Now, Warn: func(text string) { s.warnOnce("Warning: " + text) }, Made: s.helpBSON,
	})
	if cfg.Client != nil {
		s.mongo = newMongoObject(s, cfg.Client, cfg.Address)
		s.mongo.readPreference, s.mongo.settings = cfg.ReadPreference, cfg.Settings
		s.db = s.mongo.database(s.cfg.Database)
	}
	s.limitGenerators()
	s.defineGlobals()
	return s, nil
}

// Result is what an input evaluated to.
type Result struct {
	value goja.Value
}

// Undefined reports whether there is nothing to show.
func (r Result) Undefined() bool { return r.value == nil || goja.IsUndefined(r.value) }

// Eval runs source as one program in the global scope all inputs share. The
// name stands for it in errors. The end of ctx stops the script; neither catch
// nor finally see that. Timers the program set run before Eval returns, except
// that a prompt does not wait for those beyond its result.
//
// Errors are *ScriptError, *ExitError for quit(), and the cause of ctx.
func (s *Shell) Eval(ctx context.Context, name, source string) (Result, error) {
	s.lists.stale()
	v, err := s.within(ctx, func() (goja.Value, error) {
		if err := s.tellRejections(); err != nil { // what showing the last result left
			return nil, err
		}
		v, err := s.runText(name, source, false)
		if err == nil {
			v, err = s.settle(v)
		}
		if told := s.tellRejections(); err == nil {
			err = told
		}
		if err != nil {
			return nil, err
		}
		return v, nil
	})
	s.remember(v, err)
	if err != nil {
		return Result{}, err
	}
	return Result{value: v}, nil
}

// remember keeps the last result and the last error of a REPL under the names
// they have there (spec 04 §2.3).
func (s *Shell) remember(v goja.Value, err error) {
	if !s.cfg.Interactive {
		return
	}
	global := s.rt.GlobalObject()
	var script *ScriptError
	switch {
	case err == nil && v != nil:
		define(global, "_", v)
	case asError(err, &script) && script.value != nil:
		define(global, "_error", script.value)
	}
}

// RunFile runs a script. "-" is Config.Stdin, whose top-level expressions are
// shown as they come, as heredocs expect (spec 04 §1.9).
func (s *Shell) RunFile(ctx context.Context, path string) (Result, error) {
	if path == "-" {
		text, err := io.ReadAll(s.stdin())
		if err != nil {
			return Result{}, fmt.Errorf("standard input: %w", err)
		}
		_, err = s.within(ctx, func() (goja.Value, error) { return nil, s.runShowing("<stdin>", string(text)) })
		return Result{}, err
	}
	v, err := s.within(ctx, func() (goja.Value, error) {
		v, err := s.loadFile(path)
		if err != nil {
			return nil, err
		}
		return s.settle(v)
	})
	if err != nil {
		return Result{}, err
	}
	return Result{value: v}, nil
}

func (s *Shell) stdin() io.Reader {
	if s.cfg.Stdin != nil {
		return s.cfg.Stdin
	}
	return os.Stdin
}

// Incomplete reports whether source stops in the middle of a program, so that a
// REPL should ask for another line (spec 04 §2.3).
func (s *Shell) Incomplete(source string) bool { return incomplete(source) }

// within is the frame around everything that may run JavaScript: it lets ctx
// stop it and turns whatever went wrong into an error of this package.
func (s *Shell) within(ctx context.Context, run func() (goja.Value, error)) (goja.Value, error) {
	s.running.Lock()
	defer s.running.Unlock()
	return s.interruptibly(ctx, run)
}

// interruptibly is within for those who hold running.
func (s *Shell) interruptibly(ctx context.Context, run func() (goja.Value, error)) (v goja.Value, err error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	s.ctx, s.cause = untimed{ctx}, nil
	var interrupting sync.WaitGroup
	interrupting.Add(1)
	stop := context.AfterFunc(ctx, func() {
		defer interrupting.Done()
		s.rt.Interrupt(context.Cause(ctx))
	})
	unwatch := s.watchMemory()
	defer func() {
		if !stop() {
			interrupting.Wait()
		}
		unwatch()
		s.rt.ClearInterrupt()
		if p := recover(); p != nil {
			v, err = nil, &ScriptError{Name: "MongoshInternalError", Message: fmt.Sprint(p), Stack: string(debug.Stack())}
		}
		if err != nil {
			if !s.cfg.Interactive || ctx.Err() != nil { // at a prompt a mistake ends no timers
				s.loop.clear()
			}
			err = s.publicError(err)
		}
		s.ctx, s.cause = context.Background(), nil
	}()
	return run()
}

// untimed is a context without its deadline, though it ends with it: the driver
// turns deadlines into a maxTimeMS of its own, beside the one a command may have.
type untimed struct{ context.Context }

func (untimed) Deadline() (deadline time.Time, ok bool) { return time.Time{}, false }

// Close runs what scripts registered with atExit and closes the connections they
// opened; not Config.Client.
//
// They run however the shell ends. When that is the end of ctx they have
// closingTime.
//
// A script that was left behind while it ran, by somebody who would not wait for
// it, keeps the runtime to itself: then only connections are closed.
func (s *Shell) Close(ctx context.Context) error {
	if !s.running.TryLock() {
		s.lists.close()
		return s.opened.close(ctx)
	}
	defer s.running.Unlock()
	if ctx.Err() != nil && len(s.exits) > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closingTime)
		defer cancel()
	}
	var errs []error
	code := s.rt.ToValue(s.exitCode())
	for len(s.exits) > 0 {
		last := len(s.exits) - 1
		exit := s.exits[last]
		s.exits = s.exits[:last]
		_, err := s.interruptibly(ctx, func() (goja.Value, error) { return exit(goja.Undefined(), code) })
		var quit *ExitError
		if !errors.As(err, &quit) {
			errs = append(errs, err)
		}
	}
	s.lists.close()
	s.endHomeSessions(ctx)
	errs = append(errs, s.opened.close(ctx))
	return errors.Join(errs...)
}

// Set defines a global: a string, number, bool, or a slice of strings. It is for
// --set and scriptArgs.
func (s *Shell) Set(name string, value any) error {
	if list, ok := value.([]string); ok {
		items := make([]any, len(list))
		for i, v := range list {
			items[i] = v
		}
		value = s.rt.NewArray(items...)
	}
	return s.rt.GlobalObject().Set(name, value)
}

// ExitCode is what the script left in process.exitCode: 0 when it left
// nothing, 1 for what is no exit code. It is 0 while a script runs.
func (s *Shell) ExitCode() int {
	if !s.running.TryLock() {
		return 0
	}
	defer s.running.Unlock()
	return s.exitCode()
}

func (s *Shell) exitCode() int {
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
	s.warn("process.exitCode " + v.String() + " is not between 0 and 255")
	return 1
}

// scriptPath is where a file named by a script is: next to the script that names
// it when the name starts with a dot, else under the working directory, else in
// the user's library (spec 04 §4.6).
func (s *Shell) scriptPath(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	if n := len(s.dirs); n > 0 && strings.HasPrefix(name, ".") {
		if beside := filepath.Join(s.dirs[n-1], name); exists(beside) {
			return beside
		}
	}
	if lib := userLibrary(); lib != "" && !exists(name) && exists(filepath.Join(lib, name)) {
		return filepath.Join(lib, name)
	}
	return name
}
