package bindings

import (
	"crypto/md5"
	"encoding/hex"
	"math"
	"math/rand/v2"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
	"shardsh/bindings/script"
	"shardsh/bindings/sh"
)

// legacyGlobals() are functions of the old shell (rules/04-values-and-language §4.11).
func legacyGlobals() []global {
	return []global{
		{"tojson", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.toJSONArgument(c.Arg(2).ToBoolean())) },
			"Returns a value as the old shell's JSON."},
		{"tojsononeline", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.s.toJSON(c.Arg(0), true)) },
			"Returns a value as JSON on one line."},
		{"tojsonObject", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(c.toJSONArgument(c.Arg(2).ToBoolean())) },
			""},
		{"printShardingStatus", "configDB?:any verbose?:any", func(c *call) goja.Value {
			d := c.s.requireDB()
			config, verbose := d.Sibling("config"), c.Arg(1).ToBoolean()
			if other, ok := script.Receiver[*database](c.Arg(0)); ok {
				config = other.Database
			} else if script.TypeOf(c.Arg(0)) == "boolean" {
				verbose = c.Arg(0).ToBoolean()
			}
			if v := c.s.sharding.PrintStatus(d.Database, config, sh.StatusOptions{Verbose: verbose}); v != nil {
				c.s.display.Print([]goja.Value{v})
			}
			return nil
		}, "Prints sh.status()."},
		{"printShardingSizes", "configDB?:any", func(c *call) goja.Value { c.s.sharding.PrintSizes(); return nil }, ""},
		{"hex_md5", "text:string", func(c *call) goja.Value {
			sum := md5.Sum([]byte(c.Text(0)))
			return c.JS.Runtime.ToValue(hex.EncodeToString(sum[:]))
		}, ""},
		{"bsonWoCompare", "a:any b:any", func(c *call) goja.Value {
			return c.JS.Runtime.ToValue(c.compare(c.Arg(0), c.Arg(1)))
		}, ""},
		{"bsonBinaryEqual", "a:any b:any", func(c *call) goja.Value {
			return c.JS.Runtime.ToValue(c.JS.Value(c.Arg(0)).Equal(c.JS.Value(c.Arg(1))))
		}, ""},
		{"friendlyEqual", "", func(c *call) goja.Value {
			return c.JS.Runtime.ToValue(c.Arg(0).Equals(c.Arg(1)) || script.SameDocument(c.JS.World, c.Arg(0), c.Arg(1)))
		}, ""},
		{"isNumber", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(script.TypeOf(c.Arg(0)) == "number") },
			""},
		{"isString", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(script.TypeOf(c.Arg(0)) == "string") },
			""},
		{"isObject", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(script.TypeOf(c.Arg(0)) == "object") },
			""},
		{"setVerboseShell", "", func(_ *call) goja.Value { return nil }, ""},
		{"shellPrint", "", func(c *call) goja.Value { c.s.display.Print(c.Args); return nil }, ""},
		{"runProgram", "", refused("runProgram"), ""},
		{"run", "", refused("run"), ""},
		{"_rand", "", func(c *call) goja.Value { return c.JS.Runtime.ToValue(rand.Float64()) }, ""},
	}
}

func refused(name string) func(*call) goja.Value {
	return func(c *call) goja.Value {
		c.JS.Throw("Error", "%s is not available in shardsh: scripts start no programs", name)
		return nil
	}
}

// hashed returns the hash of a shard key value, computed here (rules/03-catalog-and-keys §4.6).
func (c *call) hashed(v goja.Value) goja.Value {
	return c.JS.GoValue(keyorder.Hash(c.JS.Value(v)))
}

// newRandom makes Random, the old shell's generator, which can be seeded.
func (s *Shell) newRandom() goja.Value {
	source := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	seed := func(n uint64) { source = rand.New(rand.NewPCG(n, 0x9e3779b97f4a7c15)) }
	o := s.JS.Runtime.NewObject()
	add := func(name string, f func(c *call) any) {
		script.Must(o.Set(name, s.function(name, func(c *call) goja.Value { return c.JS.Runtime.ToValue(f(c)) })))
	}
	setSeed := func(c *call) any {
		n := uint64(c.JS.Clock.Now().UnixNano())
		if c.Has(0) {
			n = uint64(c.Arg(0).ToInteger())
		}
		seed(n)
		return int64(n)
	}
	add("setRandomSeed", setSeed)
	add("srand", setSeed)
	add("setRandomFixtureSeed", func(*call) any { seed(0); return int64(0) })
	add("rand", func(*call) any { return source.Float64() })
	add("randInt", func(c *call) any {
		low, high := int64(0), c.Arg(0).ToInteger()
		if list := c.Object(0); list != nil && list.ClassName() == "Array" {
			low, high = list.Get("0").ToInteger(), list.Get("1").ToInteger()
		} else if c.Has(1) {
			low, high = high, c.Arg(1).ToInteger()
		}
		if high <= low {
			return low
		}
		return low + source.Int64N(high-low)
	})
	add("randNormal", func(c *call) any { return c.Arg(0).ToFloat() + c.Arg(1).ToFloat()*source.NormFloat64() })
	add("genExp", func(c *call) any { return -c.Arg(0).ToFloat() * math.Log(1-source.Float64()) })
	return o
}
