package node

import (
	"math/big"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newProcess returns process, with the members that scripts use.
func (s *Globals) newProcess() goja.Value {
	o := s.JS.Runtime.NewObject()
	started := time.Now()
	argv := []any{s.cfg.Executable}
	if s.JS.Modules.InScript() {
		argv = append(argv, s.JS.Runtime.GlobalObject().Get("__filename").String())
	}
	for _, a := range s.cfg.Args {
		argv = append(argv, a)
	}
	script.Must(o.Set("argv", s.JS.Runtime.NewArray(argv...)))
	script.Must(o.Set("argv0", s.cfg.Executable))
	script.Must(o.Set("execPath", s.cfg.Executable))
	script.Must(o.Set("env", s.newEnv()))
	script.Must(o.Set("exitCode", goja.Undefined()))
	script.Must(o.Set("pid", os.Getpid()))
	script.Must(o.Set("ppid", os.Getppid()))
	script.Must(o.Set("platform", platform()))
	script.Must(o.Set("arch", arch()))
	script.Must(o.Set("title", "shardsh"))
	script.Must(o.Set("version", "v20.0.0"))
	script.Must(o.Set("versions", s.JS.NewObject("shardsh", s.cfg.Version, "go", runtime.Version())))
	add := func(name string, f func(c *call) goja.Value) { script.Must(o.Set(name, s.newFunction(name, f))) }
	add("exit", func(c *call) goja.Value {
		if !c.Has(0) {
			c.Args = []goja.Value{o.Get("exitCode")}
		}
		return c.Quit()
	})
	add("cwd", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.globals.workingDirectory()) })
	add("uptime", func(c *call) goja.Value { return c.JS.Runtime.ToValue(time.Since(started).Seconds()) })
	hrtime := s.newFunction("hrtime", func(c *call) goja.Value { return c.hrtime(time.Since(started)) })
	script.Must(hrtime.Set("bigint", s.newFunction("bigint", func(c *call) goja.Value {
		return c.JS.Runtime.ToValue(big.NewInt(int64(time.Since(started))))
	})))
	script.Must(o.Set("hrtime", hrtime))
	script.Must(o.Set("stdin", s.JS.NewObject("isTTY", s.cfg.Interactive, "fd", 0)))
	add("memoryUsage", func(c *call) goja.Value {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return c.JS.NewObject("rss", int64(m.Sys), "heapTotal", int64(m.HeapSys), "heapUsed", int64(m.HeapAlloc))
	})
	add("nextTick", func(c *call) goja.Value {
		args := c.Args
		c.Args = append([]goja.Value{c.Arg(0), c.JS.Runtime.ToValue(0)}, args[min(1, len(args)):]...)
		return c.SetTimer("nextTick", false)
	})
	add("on", func(c *call) goja.Value {
		if f, ok := goja.AssertFunction(c.Arg(1)); ok && c.Text(0) == "exit" {
			c.JS.AtExit(f)
		}
		return c.This
	})
	stream := func(write func(string)) *goja.Object {
		out := s.JS.Runtime.NewObject()
		script.Must(out.Set("write", s.newFunction("write", func(c *call) goja.Value {
			write(c.Text(0))
			return c.JS.Runtime.ToValue(true)
		})))
		script.Must(out.Set("isTTY", s.cfg.Color))
		return out
	}
	script.Must(o.Set("stdout", stream(s.JS.Out.WriteRaw)))
	script.Must(o.Set("stderr", stream(s.JS.Out.WriteRawError)))
	return o
}

// hrtime returns a time as [seconds, nanoseconds], minus the result of an earlier call if that is
// given.
func (c *call) hrtime(t time.Duration) goja.Value {
	if c.Has(0) {
		t -= c.earlierHrtime()
	}
	seconds, rest := t/time.Second, t%time.Second
	if rest < 0 { // as Node does for negative differences
		seconds, rest = seconds-1, rest+time.Second
	}
	return c.JS.Runtime.NewArray(int64(seconds), int64(rest))
}

// earlierHrtime returns the argument of hrtime: the result of an earlier call.
func (c *call) earlierHrtime() time.Duration {
	pair, ok := c.Arg(0).(*goja.Object)
	if !ok || pair.ClassName() != "Array" {
		c.JS.Throw("TypeError", `The "time" argument must be an instance of Array, as process.hrtime() returns it`)
	}
	if n := pair.Get("length").ToInteger(); n != 2 {
		c.JS.Throw("RangeError", `The value of "time" is out of range. It must be 2. Received %d`, n)
	}
	return time.Duration(pair.Get("0").ToInteger())*time.Second + time.Duration(pair.Get("1").ToInteger())
}

// newEnv returns process.env. In a sandbox it has only the granted variables; to read another variable
// throws.
func (s *Globals) newEnv() *goja.Object {
	env := s.JS.Runtime.NewObject()
	for _, pair := range os.Environ() {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			continue
		}
		if refused := s.cfg.Sandbox.CheckEnv(name); refused != nil {
			getter := s.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
				s.JS.Check(refused)
				return nil
			})
			script.Must(env.DefineAccessorProperty(name, getter, nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
			continue
		}
		script.Must(env.Set(name, value))
	}
	for name, value := range s.cfg.Environment {
		script.Must(env.Set(name, value))
	}
	return env
}

// checkMayReadEnv throws if scripts may not read an environment variable.
func (s *Globals) checkMayReadEnv(name string) { s.JS.Check(s.cfg.Sandbox.CheckEnv(name)) }

func (s *Globals) memoryUsage() goja.Value {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return s.JS.NewObject("resident", m.Sys>>20, "virtual", m.Sys>>20)
}

// newPerformance returns performance, whose now() counts milliseconds of real time.
func (s *Globals) newPerformance() goja.Value {
	started := time.Now()
	o := s.JS.Runtime.NewObject()
	script.Must(o.Set("now", s.newFunction("now", func(c *call) goja.Value {
		return c.JS.Runtime.ToValue(float64(time.Since(started)) / float64(time.Millisecond))
	})))
	script.Must(o.Set("timeOrigin", float64(started.UnixMilli())))
	return o
}
