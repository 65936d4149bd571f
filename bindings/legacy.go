package bindings

import (
	"crypto/md5"
	"encoding/hex"
	"math"
	"math/rand/v2"

	"github.com/dop251/goja"

	"shardsh/balancer/keyorder"
)

// legacyGlobals() are functions of the old shell (spec 04 §4.11).
func legacyGlobals() []global {
	return []global{
		{"tojson", "", func(c *call) goja.Value { return c.JS.rt.ToValue(c.toJSONArgument(c.arg(2).ToBoolean())) }, "Returns a value as the old shell's JSON."},
		{"tojsononeline", "", func(c *call) goja.Value { return c.JS.rt.ToValue(c.s.toJSON(c.arg(0), true)) }, "Returns a value as JSON on one line."},
		{"tojsonObject", "", func(c *call) goja.Value { return c.JS.rt.ToValue(c.toJSONArgument(c.arg(2).ToBoolean())) }, ""},
		{"printShardingStatus", "configDB?:any verbose?:any", func(c *call) goja.Value {
			d := c.s.requireDB()
			config, verbose := d.sibling("config"), c.arg(1).ToBoolean()
			if other, ok := receiver[*database](c.arg(0)); ok {
				config = other
			} else if typeOf(c.arg(0)) == "boolean" {
				verbose = c.arg(0).ToBoolean()
			}
			if v := c.printedShardingStatus(d, config, statusOptions{verbose: verbose}); v != nil {
				c.s.print([]goja.Value{v})
			}
			return nil
		}, "Prints sh.status()."},
		{"printShardingSizes", "configDB?:any", func(c *call) goja.Value { c.shardingSizes(); return nil }, ""},
		{"hex_md5", "text:string", func(c *call) goja.Value {
			sum := md5.Sum([]byte(c.text(0)))
			return c.JS.rt.ToValue(hex.EncodeToString(sum[:]))
		}, ""},
		{"bsonWoCompare", "a:any b:any", func(c *call) goja.Value {
			return c.JS.rt.ToValue(c.compare(c.arg(0), c.arg(1)))
		}, ""},
		{"bsonBinaryEqual", "a:any b:any", func(c *call) goja.Value {
			return c.JS.rt.ToValue(c.JS.value(c.arg(0)).Equal(c.JS.value(c.arg(1))))
		}, ""},
		{"friendlyEqual", "", func(c *call) goja.Value {
			return c.JS.rt.ToValue(c.arg(0).Equals(c.arg(1)) || c.JS.sameDocument(c.arg(0), c.arg(1)))
		}, ""},
		{"isNumber", "", func(c *call) goja.Value { return c.JS.rt.ToValue(typeOf(c.arg(0)) == "number") }, ""},
		{"isString", "", func(c *call) goja.Value { return c.JS.rt.ToValue(typeOf(c.arg(0)) == "string") }, ""},
		{"isObject", "", func(c *call) goja.Value { return c.JS.rt.ToValue(typeOf(c.arg(0)) == "object") }, ""},
		{"setVerboseShell", "", func(_ *call) goja.Value { return nil }, ""},
		{"shellPrint", "", func(c *call) goja.Value { c.s.print(c.args); return nil }, ""},
		{"runProgram", "", refused("runProgram"), ""},
		{"run", "", refused("run"), ""},
		{"_rand", "", func(c *call) goja.Value { return c.JS.rt.ToValue(rand.Float64()) }, ""},
	}
}

func refused(name string) func(*call) goja.Value {
	return func(c *call) goja.Value {
		c.JS.throw("Error", "%s is not available in shardsh: scripts start no programs", name)
		return nil
	}
}

// hashed is the hash of a shard key value, computed here (spec 03 §4.6).
func (c *call) hashed(v goja.Value) goja.Value {
	return c.JS.goValue(keyorder.Hash(c.JS.value(v)))
}

// newRandom makes Random, the old shell's generator, which can be seeded.
func (s *Shell) newRandom() goja.Value {
	source := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	seed := func(n uint64) { source = rand.New(rand.NewPCG(n, 0x9e3779b97f4a7c15)) }
	o := s.JS.rt.NewObject()
	add := func(name string, f func(c *call) any) {
		must(o.Set(name, s.function(name, func(c *call) goja.Value { return c.JS.rt.ToValue(f(c)) })))
	}
	setSeed := func(c *call) any {
		n := uint64(c.JS.clock.Now().UnixNano())
		if c.has(0) {
			n = uint64(c.arg(0).ToInteger())
		}
		seed(n)
		return int64(n)
	}
	add("setRandomSeed", setSeed)
	add("srand", setSeed)
	add("setRandomFixtureSeed", func(*call) any { seed(0); return int64(0) })
	add("rand", func(*call) any { return source.Float64() })
	add("randInt", func(c *call) any {
		low, high := int64(0), c.arg(0).ToInteger()
		if list := c.object(0); list != nil && list.ClassName() == "Array" {
			low, high = list.Get("0").ToInteger(), list.Get("1").ToInteger()
		} else if c.has(1) {
			low, high = high, c.arg(1).ToInteger()
		}
		if high <= low {
			return low
		}
		return low + source.Int64N(high-low)
	})
	add("randNormal", func(c *call) any { return c.arg(0).ToFloat() + c.arg(1).ToFloat()*source.NormFloat64() })
	add("genExp", func(c *call) any { return -c.arg(0).ToFloat() * math.Log(1-source.Float64()) })
	return o
}
