package store

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// accumulator gathers the values of a group, or of a list.
type accumulator interface {
	add(w *work, args []value) error
	result(w *work) value
}

// keepsValues is an accumulator that keeps what it is given, in bytes.
type keepsValues interface{ keeps() int }

// kept counts what an accumulator keeps, up to the limit of a stage.
type kept struct {
	op    string
	bytes int
}

func (k *kept) keeps() int { return k.bytes }

func (k *kept) keep(n int) error {
	if k.bytes += n; k.bytes > stageMemory {
		return accumulatorTooLarge(k.op)
	}
	return nil
}

// accumulation is a compiled accumulator of $group: what it takes from each
// document, and how it starts.
type accumulation struct {
	args  []expression
	start func(c *evaluation) (accumulator, error)
}

// listAccumulators also work as expressions over their arguments or the
// elements of a single one.
var listAccumulators = map[string]func() accumulator{
	"$sum": func() accumulator { return &sumOf{} },
	"$avg": func() accumulator { return &average{} },
	"$min": func() accumulator { return &extreme{sign: -1} },
	"$max": func() accumulator { return &extreme{sign: 1} },

	"$stdDevPop":  func() accumulator { return &deviation{} },
	"$stdDevSamp": func() accumulator { return &deviation{sample: true} },
}

// groupAccumulators work only on groups.
var groupAccumulators = map[string]func() accumulator{
	"$first": func() accumulator { return &firstOf{} },
	"$last":  func() accumulator { return &lastOf{} },
	"$push":  func() accumulator { return &pushAll{kept: kept{op: "$push"}} },

	"$addToSet":     func() accumulator { return &setOf{kept: kept{op: "$addToSet"}, seen: map[string]bool{}} },
	"$mergeObjects": newMergedObject,
}

// sumOf adds numbers and ignores the rest. Integers are exact as long as they
// fit; doubles are summed with a second double for what rounding loses.
type sumOf struct {
	whole     int64
	long      bool // some integer was an int64
	spilled   bool // integers went beyond 64 bits
	double    bool
	sum, rest float64
	decimal   *bson.Decimal128
	special   float64 // sum of infinities and NaN
	count     int64
}

func (s *sumOf) add(_ *work, args []value) error {
	v := args[0]
	if !isNumber(v) {
		return nil
	}
	s.count++
	switch v.Type {
	case bson.TypeDecimal128:
		d := decimalAt(v.Value)
		if s.decimal != nil {
			d = decimalAdd(*s.decimal, d)
		}
		s.decimal = &d
	case bson.TypeDouble:
		s.double = true
		s.addDouble(doubleAt(v.Value))
	default:
		s.long = s.long || v.Type == bson.TypeInt64
		n := toInteger(v)
		sum, ok := addInt64(s.whole, n)
		if !ok {
			s.spilled = true
			s.addDouble(float64(s.whole))
			sum = n
		}
		s.whole = sum
	}
	return nil
}

func (s *sumOf) addDouble(f float64) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s.special += f
		return
	}
	t := s.sum + f
	if math.Abs(s.sum) >= math.Abs(f) {
		s.rest += s.sum - t + f
	} else {
		s.rest += f - t + s.sum
	}
	s.sum = t
}

func (s *sumOf) float() float64 {
	if s.special != 0 {
		return s.special
	}
	whole := *s
	whole.addDouble(float64(s.whole))
	return whole.sum + whole.rest
}

// exact is the sum of the doubles with all its digits.
func (s *sumOf) exact() bson.Decimal128 {
	if s.special != 0 { // NaN, too
		return decimalOfDouble(s.special)
	}
	return decimalAdd(exactDecimal(s.sum), exactDecimal(s.rest))
}

func (s *sumOf) result(*work) value {
	switch {
	case s.decimal != nil:
		d := *s.decimal
		if s.whole != 0 {
			d = decimalAdd(d, decimalOfInt(s.whole))
		}
		if s.double || s.spilled {
			d = decimalAdd(d, s.exact())
		}
		return decimalValue(d)
	case s.double || s.spilled:
		return doubleValue(s.float())
	case s.long:
		return int64Value(s.whole)
	}
	return smallestInt(s.whole)
}

type average struct{ sumOf }

func (a *average) result(*work) value {
	switch {
	case a.count == 0:
		return nullValue()
	case a.decimal != nil:
		return decimalValue(decimalDivide(toDecimal(a.sumOf.result(nil)), decimalOfInt(a.count)))
	}
	return doubleValue(a.float() / float64(a.count))
}

// extreme is $min and $max: null and missing do not take part.
type extreme struct {
	sign int
	best value
}

func (e *extreme) add(_ *work, args []value) error {
	v := args[0]
	if !isNullish(v) && (isMissing(e.best) || compare(v, e.best)*e.sign > 0) {
		e.best = v
	}
	return nil
}

func (e *extreme) keeps() int { return len(e.best.Value) }

func (e *extreme) result(*work) value { return orNull(e.best) }

func orNull(v value) value {
	if isMissing(v) {
		return nullValue()
	}
	return v
}

// deviation follows mean and squared distances number by number (Welford).
type deviation struct {
	sample   bool
	n        int64
	mean, m2 float64
}

func (d *deviation) add(_ *work, args []value) error {
	if v := args[0]; isNumber(v) {
		f := toDouble(v)
		d.n++
		delta := f - d.mean
		if delta != 0 {
			d.mean += delta / float64(d.n)
			d.m2 += delta * (f - d.mean)
		}
	}
	return nil
}

func (d *deviation) result(*work) value {
	n := d.n
	if d.sample {
		n--
	}
	if n <= 0 {
		return nullValue()
	}
	return doubleValue(math.Sqrt(d.m2 / float64(n)))
}

type firstOf struct {
	v   value
	any bool
}

func (f *firstOf) add(_ *work, args []value) error {
	if !f.any {
		f.v, f.any = args[0], true
	}
	return nil
}

func (f *firstOf) keeps() int { return len(f.v.Value) }

func (f *firstOf) result(*work) value { return orNull(f.v) }

type lastOf struct{ v value }

func (l *lastOf) add(_ *work, args []value) error { l.v = args[0]; return nil }
func (l *lastOf) keeps() int                      { return len(l.v.Value) }
func (l *lastOf) result(*work) value              { return orNull(l.v) }

type pushAll struct {
	kept
	list []value
}

func (p *pushAll) add(_ *work, args []value) error {
	if isMissing(args[0]) {
		return nil
	}
	p.list = append(p.list, args[0])
	return p.keep(len(args[0].Value) + itemBytes)
}

func (p *pushAll) result(*work) value { return arrayOf(p.list) }

type setOf struct {
	kept
	seen map[string]bool
	list []value
}

func (s *setOf) add(_ *work, args []value) error {
	v := args[0]
	if isMissing(v) {
		return nil
	}
	key := encoded(v)
	if s.seen[key] {
		return nil
	}
	s.seen[key] = true
	s.list = append(s.list, v)
	return s.keep(len(key) + len(v.Value) + itemBytes)
}

func (s *setOf) result(*work) value { return arrayOf(s.list) }

type mergedObject struct {
	fields []field
	at     map[string]int // the place of each in fields
	bytes  int
}

func newMergedObject() accumulator { return &mergedObject{at: map[string]int{}} }

func (m *mergedObject) add(w *work, args []value) error {
	v := args[0]
	if isNullish(v) {
		return nil
	}
	if !isObject(v) {
		return fail(40400, "$mergeObjects requires object inputs, but input %s is of type %s", v, typeName(v))
	}
	for name, f := range w.fields(v.Value) {
		if i, ok := m.at[string(name)]; ok {
			m.bytes += len(f.Value) - len(m.fields[i].value.Value)
			m.fields[i].value = f
			continue
		}
		m.at[string(name)] = len(m.fields)
		m.fields = append(m.fields, field{string(name), f})
		m.bytes += 2*len(name) + len(f.Value) + itemBytes
	}
	return nil
}

func (m *mergedObject) keeps() int { return m.bytes }

func (m *mergedObject) result(*work) value { return objectValue(documentOf(m.fields...)) }

func accumulatorTooLarge(op string) error {
	return serverError(mongoerr.ExceededMemoryLimit,
		"%s used too much memory and cannot spill to disk. Memory limit: %d bytes", op, stageMemory)
}
