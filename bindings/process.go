package bindings

import (
	"math/big"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/dop251/goja"
)

// newProcess makes process, as much of Node's as scripts use.
func (s *Shell) newProcess() goja.Value {
	o := s.JS.rt.NewObject()
	started := time.Now()
	argv := []any{s.cfg.Executable}
	if s.JS.inScript() {
		argv = append(argv, s.JS.rt.GlobalObject().Get("__filename").String())
	}
	for _, a := range s.cfg.Args {
		argv = append(argv, a)
	}
	must(o.Set("argv", s.JS.rt.NewArray(argv...)))
	must(o.Set("argv0", s.cfg.Executable))
	must(o.Set("execPath", s.cfg.Executable))
	must(o.Set("env", s.environment()))
	must(o.Set("exitCode", goja.Undefined()))
	must(o.Set("pid", os.Getpid()))
	must(o.Set("ppid", os.Getppid()))
	must(o.Set("platform", runtime.GOOS))
	must(o.Set("arch", strings.Replace(runtime.GOARCH, "amd64", "x64", 1)))
	must(o.Set("title", "shardsh"))
	must(o.Set("version", "v20.0.0"))
	must(o.Set("versions", s.JS.newObject("shardsh", s.cfg.Version, "go", runtime.Version())))
	add := func(name string, f func(c *call) goja.Value) { must(o.Set(name, s.function(name, f))) }
	add("exit", func(c *call) goja.Value {
		if !c.has(0) {
			c.args = []goja.Value{o.Get("exitCode")}
		}
		return c.quit()
	})
	add("cwd", func(c *call) goja.Value { return c.JS.rt.ToValue(c.s.workingDirectory()) })
	add("uptime", func(c *call) goja.Value { return c.JS.rt.ToValue(time.Since(started).Seconds()) })
	hrtime := s.function("hrtime", func(c *call) goja.Value {
		t := time.Since(started)
		return c.JS.rt.NewArray(int64(t/time.Second), int64(t%time.Second))
	})
	must(hrtime.Set("bigint", s.function("bigint", func(c *call) goja.Value { return c.JS.rt.ToValue(big.NewInt(int64(time.Since(started)))) })))
	must(o.Set("hrtime", hrtime))
	must(o.Set("stdin", s.JS.newObject("isTTY", s.cfg.Interactive, "fd", 0)))
	add("memoryUsage", func(c *call) goja.Value {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return c.JS.newObject("rss", int64(m.Sys), "heapTotal", int64(m.HeapSys), "heapUsed", int64(m.HeapAlloc))
	})
	add("nextTick", func(c *call) goja.Value {
		args := c.args
		c.args = append([]goja.Value{c.arg(0), c.JS.rt.ToValue(0)}, args[min(1, len(args)):]...)
		return c.setTimer("nextTick", false)
	})
	add("on", func(c *call) goja.Value {
		if f, ok := goja.AssertFunction(c.arg(1)); ok && c.text(0) == "exit" {
			c.JS.atExit(f)
		}
		return c.this
	})
	stream := func(write func(string)) *goja.Object {
		out := s.JS.rt.NewObject()
		must(out.Set("write", s.function("write", func(c *call) goja.Value {
			write(c.text(0))
			return c.JS.rt.ToValue(true)
		})))
		must(out.Set("isTTY", s.cfg.Color))
		return out
	}
	must(o.Set("stdout", stream(s.JS.write)))
	must(o.Set("stderr", stream(func(text string) { s.JS.writeTo(s.cfg.Stderr, text) })))
	return o
}

func (s *Shell) environment() *goja.Object {
	env := s.JS.rt.NewObject()
	for _, pair := range os.Environ() {
		if name, value, ok := strings.Cut(pair, "="); ok && name != "" {
			must(env.Set(name, value))
		}
	}
	return env
}

func (s *Shell) memoryUsage() goja.Value {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return s.JS.newObject("resident", m.Sys>>20, "virtual", m.Sys>>20)
}

// newPerformance makes performance, whose now() counts milliseconds of real time.
func (s *Shell) newPerformance() goja.Value {
	started := time.Now()
	o := s.JS.rt.NewObject()
	must(o.Set("now", s.function("now", func(c *call) goja.Value {
		return c.JS.rt.ToValue(float64(time.Since(started)) / float64(time.Millisecond))
	})))
	must(o.Set("timeOrigin", float64(started.UnixMilli())))
	return o
}
