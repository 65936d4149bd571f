package script

import (
	"math"
	"strings"

	"github.com/dop251/goja"
)

// Limits on the size of the result of one call of an engine function. Such a call cannot be
// interrupted, and running out of memory ends the process.
const (
	maxStringLength = 1<<29 - 24 // as in Node
	maxArrayLength  = 1 << 27
	maxBufferLength = 1 << 33
	// uncheckedSize is the size below which free memory is not checked.
	uncheckedSize = 1 << 24
)

// valueSize is the memory that an array element takes.
const valueSize = 16

// throwRange throws a RangeError.
func (l limits) throwRange(message string) {
	e, err := l.Runtime.New(l.Runtime.GlobalObject().Get("RangeError"), l.Runtime.ToValue(message))
	l.Check(err)
	panic(e)
}

// fitsInMemory reports whether an allocation stays below the memory limit.
func (l limits) fitsInMemory(bytes float64) bool {
	if bytes <= uncheckedSize {
		return true
	}
	limit := l.cfg.memoryLimit()
	return limit == 0 || float64(heapSize())+bytes <= float64(limit)
}

// checkStringLength throws if a string of that length is not allowed.
func (l limits) checkStringLength(length float64) {
	if length > maxStringLength || !l.fitsInMemory(length) {
		l.throwRange("Invalid string length")
	}
}

// checkArrayLength throws if an array of that length is not allowed.
func (l limits) checkArrayLength(length float64) {
	if length > maxArrayLength || !l.fitsInMemory(length*valueSize) {
		l.throwRange("Invalid array length")
	}
}

// numberArg converts an argument to a number; NaN counts as 0, as it does for lengths. The function
// itself reports invalid arguments.
func numberArg(v goja.Value) (f float64) {
	if f = v.ToFloat(); math.IsNaN(f) {
		return 0
	}
	return f
}

// replaceByNumber replaces an argument by its numeric value, once, because the conversion of an object may
// have side effects.
func replaceByNumber(s limits, call *goja.FunctionCall, i int) float64 {
	if i >= len(call.Arguments) {
		return 0
	}
	if _, ok := call.Arguments[i].(*goja.Object); ok {
		call.Arguments[i] = s.Runtime.ToValue(call.Arguments[i].ToFloat())
	}
	if _, ok := call.Arguments[i].(*goja.Symbol); ok {
		return 0
	}
	return numberArg(call.Arguments[i])
}

// textLength returns the length of a value as a string.
func textLength(v goja.Value) float64 {
	if text, ok := v.(goja.String); ok {
		return float64(text.Length())
	}
	return 0
}

// lengthOf returns the property length of the receiver.
func lengthOf(v goja.Value) float64 {
	o, ok := v.(*goja.Object)
	if !ok {
		return textLength(v)
	}
	length := o.Get("length")
	if length == nil || !goja.IsNumber(length) {
		return 0
	}
	return length.ToFloat()
}

// sizeGuards returns checks for the functions whose single call may create or process much data.
func sizeGuards() map[string]map[string]func(s limits, call *goja.FunctionCall) {
	type check = func(s limits, call *goja.FunctionCall)
	pads := func(s limits, call *goja.FunctionCall) {
		if length := replaceByNumber(s, call, 0); length > textLength(call.This) &&
			(goja.IsUndefined(call.Argument(1)) || call.Argument(1).String() != "") {
			s.checkStringLength(length)
		}
	}
	whole := func(s limits, call *goja.FunctionCall) {
		if length := lengthOf(call.This); length > maxArrayLength {
			s.checkArrayLength(length)
		}
	}
	copies := func(s limits, call *goja.FunctionCall) { s.checkArrayLength(lengthOf(call.This)) }
	applies := func(s limits, list goja.Value) {
		if lengthOf(list) > uncheckedSize/valueSize {
			s.throwRange(nestingMessage)
		}
	}
	arrays := map[string]check{
		"fill":   copies,
		"join":   limits.checkJoin,
		"concat": limits.checkConcat,
		"flat":   limits.checkFlat,
	}
	for name := range strings.FieldsSeq("indexOf lastIndexOf includes reverse copyWithin shift unshift splice sort") {
		arrays[name] = whole
	}
	for name := range strings.FieldsSeq("toReversed toSorted toSpliced with") {
		arrays[name] = copies
	}
	return map[string]map[string]check{
		"Array.prototype": arrays,
		"Array": {"from": func(s limits, call *goja.FunctionCall) {
			s.checkArrayLength(lengthOf(call.Argument(0)))
		}},
		"String.prototype": {
			"repeat": func(s limits, call *goja.FunctionCall) {
				if count := replaceByNumber(s, call, 0); count > 0 && !math.IsInf(count, 1) {
					s.checkStringLength(textLength(call.This) * count)
				}
			},
			"padStart": pads, "padEnd": pads,
			"concat": func(s limits, call *goja.FunctionCall) {
				length := textLength(call.This)
				for _, v := range call.Arguments {
					length += textLength(v)
				}
				s.checkStringLength(length)
			},
			"replace":    func(s limits, call *goja.FunctionCall) { s.checkReplace(call, false) },
			"replaceAll": func(s limits, call *goja.FunctionCall) { s.checkReplace(call, true) },
			"split": func(s limits, call *goja.FunctionCall) {
				if goja.IsString(call.Argument(0)) {
					s.checkArrayLength(textLength(call.This) / max(1, textLength(call.Argument(0))))
				}
			},
		},
		"Function.prototype": {"apply": func(s limits, call *goja.FunctionCall) { applies(s, call.Argument(1)) }},
		"Reflect": {
			"apply":     func(s limits, call *goja.FunctionCall) { applies(s, call.Argument(2)) },
			"construct": func(s limits, call *goja.FunctionCall) { applies(s, call.Argument(1)) },
		},
		"JSON": {"parse": func(s limits, call *goja.FunctionCall) {
			if goja.IsString(call.Argument(0)) && jsonNestsTooDeep(call.Argument(0).String()) {
				s.throwRange(nestingMessage)
			}
		}},
	}
}

// checkJoin limits the length of an array's string, and the depth of nested arrays in it.
func (l limits) checkJoin(call *goja.FunctionCall) {
	separator := 1.0
	if goja.IsString(call.Argument(0)) {
		separator = textLength(call.Argument(0))
	}
	length := lengthOf(call.This)
	if length > maxArrayLength {
		l.checkArrayLength(length)
	}
	l.checkStringLength((length - 1) * separator)
}

func (l limits) checkConcat(call *goja.FunctionCall) {
	length := lengthOf(call.This)
	for _, v := range call.Arguments {
		length += max(1, lengthOf(v))
	}
	l.checkArrayLength(length)
}

// checkFlat limits the depth of nested arrays.
func (l limits) checkFlat(call *goja.FunctionCall) {
	if len(call.Arguments) == 0 || replaceByNumber(l, call, 0) <= maxCallDepth {
		return
	}
	if l.arraysNestDeeper(call.This, maxCallDepth) {
		l.throwRange(nestingMessage)
	}
}

// arraysNestDeeper reports whether arrays are nested deeper than depth. It also returns true if the
// answer would take too long.
func (l limits) arraysNestDeeper(v goja.Value, depth int) bool {
	level, next := []goja.Value{v}, []goja.Value{}
	for range depth {
		for _, v := range level {
			o, ok := v.(*goja.Object)
			if !ok || o.ClassName() != "Array" {
				continue
			}
			for i := range int64(lengthOf(o)) {
				if inner, ok := o.Get(l.Runtime.ToValue(i).String()).(*goja.Object); ok && inner.ClassName() == "Array" {
					next = append(next, inner)
				}
			}
		}
		if len(next) == 0 {
			return false
		}
		level, next = next, level[:0]
	}
	return true
}

// checkReplace limits the length of the result of replacing by a string in a long string; all is true
// for replaceAll.
func (l limits) checkReplace(call *goja.FunctionCall, all bool) {
	if !goja.IsString(call.Argument(1)) {
		return
	}
	text, with := textLength(call.This), textLength(call.Argument(1))
	if text*max(text, with) <= uncheckedSize {
		return
	}
	times := 1.0
	if pattern, ok := call.Argument(0).(*goja.Object); ok && pattern.ClassName() == "RegExp" {
		if strings.Contains(OptionalText(pattern.Get("flags")), "g") {
			times = text + 1
		}
	} else if all {
		times = text/max(1, textLength(call.Argument(0))) + 1
	}
	by := call.Argument(1).String()
	if strings.Contains(by, "$`") || strings.Contains(by, "$'") {
		with += text / 2
	}
	l.checkStringLength(text + times*with)
}

// jsonNestsTooDeep reports whether EJSONText is nested so deep that parsing would overflow the stack.
func jsonNestsTooDeep(text string) bool {
	if strings.Count(text, "[")+strings.Count(text, "{") <= maxNesting {
		return false
	}
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '[', '{':
			if depth++; depth > maxNesting {
				return true
			}
		case ']', '}':
			depth--
		}
	}
	return false
}

// limitSizes guards the functions of sizeGuards, and the classes of buffers.
func (l limits) limitSizes() {
	global := l.Runtime.GlobalObject()
	for path, list := range sizeGuards() {
		name, _, onPrototype := strings.Cut(path, ".")
		owner := global.Get(name).(*goja.Object)
		if onPrototype {
			owner = owner.Get("prototype").(*goja.Object)
		}
		for name, check := range list {
			l.guardFunction(owner, name, func(call *goja.FunctionCall) { check(l, call) })
		}
	}
	l.limitBuffers()
}

// limitBuffers guards the classes whose objects are as large as their argument.
func (l limits) limitBuffers() {
	global := l.Runtime.GlobalObject()
	for name, size := range map[string]float64{
		"ArrayBuffer": 1, "Int8Array": 1, "Uint8Array": 1, "Uint8ClampedArray": 1, "Int16Array": 2, "Uint16Array": 2,
		"Int32Array": 4, "Uint32Array": 4, "Float32Array": 4, "Float64Array": 8, "BigInt64Array": 8, "BigUint64Array": 8,
	} {
		original, ok := global.Get(name).(*goja.Object)
		if !ok {
			continue
		}
		class := l.guardedConstructor(original, func(args []goja.Value) {
			if len(args) == 0 {
				return
			}
			length := lengthOf(args[0])
			if _, ok := args[0].(*goja.Object); !ok && !goja.IsString(args[0]) {
				length = numberArg(args[0])
			}
			if length*size <= maxBufferLength && l.fitsInMemory(length*size) {
				return
			}
			if name == "ArrayBuffer" {
				l.throwRange("Array buffer allocation failed")
			}
			l.throwRange("Invalid typed array length: " + l.Runtime.ToValue(length).String())
		})
		Define(original.Get("prototype").(*goja.Object), "constructor", class)
		Define(global, name, class)
	}
}
