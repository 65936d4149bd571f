package node

import (
	"cmp"
	"crypto/hmac"
	"crypto/md5"
	crand "crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/dop251/goja"

	"shardsh/balancer/humanize"
	"shardsh/bindings/script"
)

// moduleBuilder builds the object of a built-in module.
type moduleBuilder struct {
	globals *Globals
	object  *goja.Object
}

func (s *Globals) newModuleBuilder() moduleBuilder {
	return moduleBuilder{globals: s, object: s.JS.Runtime.NewObject()}
}

// add defines a function. A nil result is undefined.
func (m moduleBuilder) add(name string, f func(c *call) any) {
	script.Must(m.object.Set(name, m.globals.newFunction(name, func(c *call) goja.Value {
		v := f(c)
		if v == nil {
			return nil
		}
		return c.JS.Runtime.ToValue(v)
	})))
}

// baseName returns the last part of a path; empty for an empty path and for a root.
func baseName(path string) string {
	base := filepath.Base(path)
	if path == "" || base == string(filepath.Separator) {
		return ""
	}
	return base
}

// dirName returns a path without its last part.
func dirName(path string) string {
	if trimmed := strings.TrimRight(path, string(filepath.Separator)); trimmed != "" {
		path = trimmed
	}
	return filepath.Dir(path)
}

// normalizePath cleans a path, but keeps the separator at its end.
func normalizePath(path string) string {
	clean, separator := filepath.Clean(path), string(filepath.Separator)
	if strings.HasSuffix(path, separator) && clean != separator {
		clean += separator
	}
	return clean
}

// extension returns the extension of a path with its dot. The dot that begins a name begins no extension.
func extension(path string) string {
	base := filepath.Base(path)
	if base == ".." {
		return ""
	}
	return filepath.Ext(strings.TrimPrefix(base, "."))
}

// resolvePath returns the absolute path that the parts lead to, one after the other, as Node's path.resolve.
func (s *Globals) resolvePath(parts ...string) string {
	path := s.workingDirectory()
	for _, part := range parts {
		if filepath.IsAbs(part) {
			path = part
		} else {
			path = filepath.Join(path, part)
		}
	}
	return filepath.Clean(path)
}

// newFS returns the module fs: the synchronous functions that scripts use.
func (s *Globals) newFS() *goja.Object {
	m := s.newModuleBuilder()
	m.add("readFileSync", func(c *call) any {
		data := []byte(c.globals.readFile(c.Text(0)))
		if encoding := c.encoding(1); encoding != "" && encoding != "buffer" {
			return decodeBytes(data, encoding)
		}
		return c.globals.newBuffer(data)
	})
	m.add("rmSync", func(c *call) any {
		c.globals.checkMayWrite()
		remove := removeFile
		if script.Flag(c.Object(1), "recursive", false) {
			remove = os.RemoveAll
		}
		force := script.Flag(c.Object(1), "force", false)
		if err := remove(c.Text(0)); err != nil && !(force && os.IsNotExist(err)) {
			c.JS.Rethrow(script.FileError(err, "rm", c.Text(0)))
		}
		return nil
	})
	m.add("rmdirSync", func(c *call) any {
		c.globals.checkMayWrite()
		if err := removeDir(c.Text(0)); err != nil {
			c.JS.Rethrow(script.FileError(err, "rmdir", c.Text(0)))
		}
		return nil
	})
	m.add("copyFileSync", func(c *call) any {
		c.globals.copyFile(c.Text(0), c.Text(1))
		return nil
	})
	m.add("mkdtempSync", func(c *call) any {
		c.globals.checkMayWrite()
		dir, err := os.MkdirTemp(filepath.Dir(c.Text(0)), filepath.Base(c.Text(0))+"*")
		if err != nil {
			c.JS.Rethrow(script.FileError(err, "mkdtemp", c.Text(0)))
		}
		return dir
	})
	m.add("writeFileSync", func(c *call) any { c.writeFileSync("w"); return nil })
	m.add("appendFileSync", func(c *call) any { c.writeFileSync("a"); return nil })
	m.add("existsSync", func(c *call) any { return c.globals.fileExists(c.Text(0)) })
	m.add("readdirSync", func(c *call) any {
		names := []any{}
		for _, e := range c.globals.readDir(c.Text(0)) {
			names = append(names, e.Name())
		}
		return c.JS.Runtime.NewArray(names...)
	})
	m.add("statSync", func(c *call) any {
		c.globals.checkMayRead(c.Text(0))
		info, err := os.Stat(c.Text(0))
		if err != nil {
			c.JS.Rethrow(script.FileError(err, "stat", c.Text(0)))
		}
		o := c.JS.NewObject("size", info.Size(), "mode", int64(info.Mode().Perm()), "mtime", c.JS.FromGo(info.ModTime()),
			"mtimeMs", info.ModTime().UnixMilli())
		script.Define(o, "isFile", c.globals.newFunction("isFile", func(c *call) goja.Value {
			return c.JS.Runtime.ToValue(info.Mode().IsRegular())
		}))
		script.Define(o, "isDirectory", c.globals.newFunction("isDirectory",
			func(c *call) goja.Value { return c.JS.Runtime.ToValue(info.IsDir()) }))
		return o
	})
	m.add("mkdirSync", func(c *call) any {
		c.globals.checkMayWrite()
		mkdir := os.Mkdir
		if script.Flag(c.Object(1), "recursive", false) {
			mkdir = os.MkdirAll
		}
		if err := mkdir(c.Text(0), 0o777); err != nil {
			c.JS.Rethrow(script.FileError(err, "mkdir", c.Text(0)))
		}
		return nil
	})
	m.add("unlinkSync", func(c *call) any {
		c.globals.checkMayWrite()
		if err := removeFile(c.Text(0)); err != nil {
			c.JS.Rethrow(script.FileError(err, "unlink", c.Text(0)))
		}
		return nil
	})
	m.add("renameSync", func(c *call) any {
		c.globals.checkMayWrite()
		if err := os.Rename(c.Text(0), c.Text(1)); err != nil {
			c.JS.Rethrow(script.FileError(err, "rename", c.Text(0)))
		}
		return nil
	})
	m.addPromises()
	return m.object
}

func (s *Globals) newPath() *goja.Object {
	m := s.newModuleBuilder()
	texts := func(c *call) []string {
		list := make([]string, len(c.Args))
		for i := range c.Args {
			list[i] = c.Text(i)
		}
		return list
	}
	m.add("join", func(c *call) any {
		parts := slices.DeleteFunc(texts(c), func(part string) bool { return part == "" })
		return normalizePath(strings.Join(parts, string(filepath.Separator)))
	})
	m.add("resolve", func(c *call) any { return c.globals.resolvePath(texts(c)...) })
	m.add("dirname", func(c *call) any { return dirName(c.Text(0)) })
	m.add("basename", func(c *call) any {
		base := baseName(c.Text(0))
		if c.Has(1) && base != c.Text(1) {
			base = strings.TrimSuffix(base, c.Text(1))
		}
		return base
	})
	m.add("extname", func(c *call) any { return extension(c.Text(0)) })
	m.add("normalize", func(c *call) any { return normalizePath(c.Text(0)) })
	m.add("isAbsolute", func(c *call) any { return filepath.IsAbs(c.Text(0)) })
	m.add("relative", func(c *call) any {
		to := c.globals.resolvePath(c.Text(1))
		rel, err := filepath.Rel(c.globals.resolvePath(c.Text(0)), to)
		switch {
		case err != nil:
			return to // it is on another volume
		case rel == ".":
			return ""
		}
		return rel
	})
	m.add("parse", func(c *call) any {
		dir, base, ext := dirName(c.Text(0)), baseName(c.Text(0)), extension(c.Text(0))
		if dir == "." && !strings.HasPrefix(c.Text(0), "."+string(filepath.Separator)) {
			dir = ""
		}
		root := ""
		if filepath.IsAbs(c.Text(0)) {
			root = "/"
		}
		return c.JS.NewObject("root", root, "dir", dir, "base", base, "ext", ext, "name", strings.TrimSuffix(base, ext))
	})
	m.add("format", func(c *call) any {
		part := func(name string) string { return script.OptionalText(script.Property(c.Object(0), name)) }
		base := part("base")
		if base == "" {
			base = part("name") + part("ext")
		}
		dir := cmp.Or(part("dir"), part("root"))
		if dir == "" || dir == part("root") {
			return dir + base
		}
		return dir + string(filepath.Separator) + base
	})
	script.Must(m.object.Set("posix", m.object))
	script.Must(m.object.Set("sep", string(filepath.Separator)))
	script.Must(m.object.Set("delimiter", string(filepath.ListSeparator)))
	return m.object
}

func (s *Globals) newOS() *goja.Object {
	m := s.newModuleBuilder()
	m.add("hostname", func(*call) any { return hostname() })
	m.add("platform", func(*call) any { return platform() })
	m.add("arch", func(*call) any { return arch() })
	m.add("tmpdir", func(c *call) any { c.globals.checkMayReadEnv("TMPDIR"); return os.TempDir() })
	m.add("homedir", func(c *call) any { c.globals.checkMayReadEnv("HOME"); return script.IgnoreError(os.UserHomeDir()) })
	m.add("cpus", func(c *call) any {
		list := make([]any, runtime.NumCPU())
		for i := range list {
			list[i] = c.JS.Runtime.NewObject()
		}
		return c.JS.Runtime.NewArray(list...)
	})
	m.add("totalmem", func(*call) any { return int64(script.MemInfo()["MemTotal"]) })
	m.add("freemem", func(*call) any { return int64(script.MemInfo()["MemAvailable"]) })
	m.add("type", func(*call) any {
		return map[string]string{
			"linux": "Linux", "darwin": "Darwin", "windows": "Windows_NT", "freebsd": "FreeBSD",
		}[runtime.GOOS]
	})
	script.Must(m.object.Set("EOL", "\n"))
	return m.object
}

func newHash(name string) func() hash.Hash {
	return map[string]func() hash.Hash{"md5": md5.New, "sha1": sha1.New, "sha256": sha256.New,
		"sha512": sha512.New}[strings.ToLower(name)]
}

func digest(name string, data []byte) string {
	h := newHash(name)()
	h.Write(data)
	return hex.EncodeToString(h.Sum(nil))
}

// maxRandomRange is the maximum range of randomInt, Node's.
const maxRandomRange uint64 = 1<<48 - 1

// maxRandomBytes is the maximum size of a result of randomBytes.
const maxRandomBytes = 64 << 20

func (s *Globals) newCrypto() *goja.Object {
	m := s.newModuleBuilder()
	m.add("createHash", func(c *call) any {
		make := newHash(c.Text(0))
		if make == nil {
			c.JS.Throw("Error", "Digest method not supported")
		}
		return c.globals.newHasher(make())
	})
	m.add("createHmac", func(c *call) any {
		make := newHash(c.Text(0))
		if make == nil {
			c.JS.Throw("Error", "Invalid digest: %s", c.Text(0))
		}
		return c.globals.newHasher(hmac.New(make, []byte(c.textOrBytesArg(1, ""))))
	})
	m.add("randomBytes", func(c *call) any {
		size := c.Arg(0).ToInteger()
		if size < 0 || size > maxRandomBytes {
			c.JS.Throw("RangeError", "The value of \"size\" is out of range. It must be >= 0 && <= %d. Received %d",
				maxRandomBytes, size)
		}
		data := make([]byte, size)
		_, _ = crand.Read(data)
		return c.globals.newBuffer(data)
	})
	m.add("randomUUID", func(*call) any {
		var b [16]byte
		_, _ = crand.Read(b[:])
		b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
		return humanize.UUID(b[:])
	})
	m.add("randomInt", func(c *call) any {
		low, high := int64(0), c.Arg(0).ToInteger()
		if c.Has(1) {
			low, high = high, c.Arg(1).ToInteger()
		}
		if high <= low {
			c.JS.Throw("RangeError", "max must be greater than min")
		}
		if uint64(high-low) > maxRandomRange { // an overflow is a large number, too
			c.JS.Throw("RangeError", "The value of \"max - min\" is out of range. It must be <= %d", maxRandomRange)
		}
		return low + rand.Int64N(high-low)
	})
	return m.object
}

// newHasher returns the object that createHash returns, with update and digest.
func (s *Globals) newHasher(h hash.Hash) *goja.Object {
	m := s.newModuleBuilder()
	m.add("update", func(c *call) any {
		_, _ = h.Write([]byte(c.textOrBytesArg(0, c.encoding(1))))
		return c.This
	})
	m.add("digest", func(c *call) any {
		sum := h.Sum(nil)
		if !c.Has(0) {
			return c.globals.newBuffer(sum)
		}
		return decodeBytes(sum, c.Text(0))
	})
	return m.object
}

// Module returns a built-in module, which is built once; nil when there is none.
func (s *Globals) Module(name string) goja.Value {
	var build func() *goja.Object
	switch name {
	case "fs":
		build = s.newFS
	case "fs/promises":
		return s.Module("fs").(*goja.Object).Get("promises")
	case "path":
		build = s.newPath
	case "os":
		build = s.newOS
	case "util":
		build = s.newUtil
	case "crypto":
		build = s.newCrypto
	case "url":
		build = s.newURLModule
	case "timers":
		build = s.newTimersModule
	case "timers/promises":
		build = s.newTimerPromises
	case "events":
		return s.webGlobal("EventEmitter")
	case "module":
		build = s.newModuleModule
	case "buffer":
		return s.JS.NewObject("Buffer", s.JS.Runtime.GlobalObject().Get("Buffer"))
	case "assert":
		return s.JS.Runtime.GlobalObject().Get("assert")
	case "process":
		return s.JS.Runtime.GlobalObject().Get("process")
	default:
		return nil
	}
	return s.JS.Classes.BuildOnce("module "+name, build)
}

// platform returns Node's name of the operating system.
func platform() string { return strings.Replace(runtime.GOOS, "windows", "win32", 1) }

// arch returns Node's name of the processor.
func arch() string { return strings.Replace(runtime.GOARCH, "amd64", "x64", 1) }
