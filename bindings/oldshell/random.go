package oldshell

import (
	"math"
	"math/rand/v2"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// newRandom returns Random, the old shell's generator, which can be seeded.
func (h Host) newRandom() goja.Value {
	source := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	seed := func(n uint64) { source = rand.New(rand.NewPCG(n, 0x9e3779b97f4a7c15)) }
	o := h.JS.Runtime.NewObject()
	add := func(name string, f func(c *script.Call) any) {
		script.Must(
			o.Set(name, h.JS.NewFunction(name, func(c *script.Call) goja.Value { return c.JS.Runtime.ToValue(f(c)) })),
		)
	}
	setSeed := func(c *script.Call) any {
		n := uint64(c.JS.Clock.Now().UnixNano())
		if c.Has(0) {
			n = uint64(c.Arg(0).ToInteger())
		}
		seed(n)
		return int64(n)
	}
	add("setRandomSeed", setSeed)
	add("srand", setSeed)
	add("setRandomFixtureSeed", func(*script.Call) any { seed(0); return int64(0) })
	add("rand", func(*script.Call) any { return source.Float64() })
	add("randInt", func(c *script.Call) any {
		low, high := int64(0), c.Arg(0).ToInteger()
		if list := c.Object(0); list != nil && list.ClassName() == "Array" {
			low, high = list.Get("0").ToInteger(), list.Get("1").ToInteger()
		} else if c.Has(1) {
			low, high = high, c.Arg(1).ToInteger()
		}
		if high <= low {
			return low
		}
		return low + int64(source.Uint64N(uint64(high-low))) // the range may exceed an int64
	})
	add("randNormal", func(c *script.Call) any { return c.Arg(0).ToFloat() + c.Arg(1).ToFloat()*source.NormFloat64() })
	add("genExp", func(c *script.Call) any { return -c.Arg(0).ToFloat() * math.Log(1-source.Float64()) })
	return o
}
