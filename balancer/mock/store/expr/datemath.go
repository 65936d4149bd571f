package store

import (
	"strings"
	"time"

	"shardsh/balancer/mongoerr"
)

// timeUnit is a length of time by name: so many months, or so many milliseconds.
type timeUnit struct {
	months int
	ms     int64
	local  bool // days and weeks follow the calendar of the time zone
}

var timeUnits = map[string]timeUnit{
	"year": {months: 12}, "quarter": {months: 3}, "month": {months: 1},
	"week": {ms: 7 * 86400000, local: true}, "day": {ms: 86400000, local: true},
	"hour": {ms: 3600000}, "minute": {ms: 60000}, "second": {ms: 1000}, "millisecond": {ms: 1},
}

func unitOf(v value, op string, typeCode int32) (timeUnit, string, error) {
	if !isString(v) {
		return timeUnit{}, "", fail(typeCode, "%s requires 'unit' to be a string, but got %s", op, typeName(v))
	}
	name := textAt(v.Value)
	u, ok := timeUnits[name]
	if !ok {
		return u, name, failedToParse("unknown time unit value: %s", name)
	}
	return u, name, nil
}

// weekStart reads the day a week begins with; Sunday when absent.
func weekStart(v value, op string) (day time.Weekday, ok bool, err error) {
	switch {
	case isAbsent(v):
		return time.Sunday, true, nil
	case isNullish(v):
		return 0, false, nil
	case !isString(v):
		return 0, false, fail(5439015, "%s requires 'startOfWeek' to be a string, but got %s", op, typeName(v))
	}
	name := strings.ToLower(textAt(v.Value))
	for d := time.Sunday; d <= time.Saturday; d++ {
		full := strings.ToLower(d.String())
		if name == full || name == full[:3] {
			return d, true, nil
		}
	}
	return 0, false, failedToParse("unknown day of week value: %s", textAt(v.Value))
}

func dateArithmetic(op string, sign int64) namedFunction {
	return namedFunction{
		args:     []string{"startDate", "unit", "amount", "timezone"},
		required: 3, notObject: 5166400, unknown: 5166401, notGiven: 5166402,
		call: func(_ *evaluation, args []value) (value, error) {
			if isNullish(args[0]) || isNullish(args[1]) || isNullish(args[2]) {
				return nullValue(), nil
			}
			u, _, err := unitOf(args[1], op, 5166404)
			if err != nil {
				return value{}, err
			}
			if _, err := dateMillis(args[0]); err != nil {
				return value{}, fail(5166403, "%s requires startDate to be convertible to a date", op)
			}
			amount, ok := wholeInteger(args[2])
			if !ok {
				return value{}, fail(5166405, "%s expects integer amount of time units", op)
			}
			t, ok, err := localTime(args[0], args[3])
			if err != nil || !ok {
				return nullValue(), err
			}
			const most = 1 << 40 // years and milliseconds alike lie within
			if amount > most || amount < -most {
				if u.ms != 1 {
					return value{}, fail(5976500, "%s overflowed", op)
				}
			}
			out, err := addUnits(t, u, sign*amount)
			if err != nil {
				return value{}, err
			}
			return dateValue(out.UnixMilli()), nil
		},
	}
}

// addUnits keeps the day within the month it arrives in.
func addUnits(t time.Time, u timeUnit, n int64) (time.Time, error) {
	switch {
	case u.months > 0:
		months := int64(u.months) * n
		if months > 12*1e6 || months < -12*1e6 {
			return t, serverError(mongoerr.Overflow, "date overflow")
		}
		first := time.Date(t.Year(), t.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC)
		last := first.AddDate(0, 1, -1).Day()
		return time.Date(first.Year(), first.Month(), min(t.Day(), last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(),
			t.Location()), nil
	case u.local:
		days := u.ms / 86400000 * n
		if days > 1e9 || days < -1e9 {
			return t, serverError(mongoerr.Overflow, "date overflow")
		}
		return t.AddDate(0, 0, int(days)), nil
	}
	ms, ok := multiplyInt64(u.ms, n)
	if ok {
		ms, ok = addInt64(t.UnixMilli(), ms)
	}
	if !ok {
		return t, serverError(mongoerr.Overflow, "date overflow")
	}
	return time.UnixMilli(ms).In(t.Location()), nil
}

// exprDateDiff counts the unit boundaries between two dates.
func exprDateDiff(_ *evaluation, args []value) (value, error) {
	if isNullish(args[0]) || isNullish(args[1]) || isNullish(args[2]) {
		return nullValue(), nil
	}
	u, name, err := unitOf(args[2], "$dateDiff", 5439013)
	if err != nil {
		return value{}, err
	}
	start := time.Sunday
	if name == "week" {
		var ok bool
		if start, ok, err = weekStart(args[4], "$dateDiff"); err != nil || !ok {
			return nullValue(), err
		}
	}
	for _, v := range args[:2] {
		if _, err := dateMillis(v); err != nil {
			return value{}, fail(5166307, "$dateDiff requires '%s' to be a date, but got %s", "startDate", typeName(v))
		}
	}
	a, ok, err := localTime(args[0], args[3])
	if err != nil || !ok {
		return nullValue(), err
	}
	b, _, err := localTime(args[1], args[3])
	if err != nil {
		return value{}, err
	}
	return int64Value(ordinal(b, u, name, start) - ordinal(a, u, name, start)), nil
}

// ordinal numbers the unit a time lies in.
func ordinal(t time.Time, u timeUnit, name string, start time.Weekday) int64 {
	if u.months > 0 {
		return floorDiv(int64(t.Year())*12+int64(t.Month())-1, int64(u.months))
	}
	_, offset := t.Zone()
	days := floorDiv(t.Unix()+int64(offset), 86400)
	switch name {
	case "day":
		return days
	case "week": // day 0 was a Thursday
		return floorDiv(days+int64((time.Thursday-start+7)%7), 7)
	case "hour":
		return floorDiv(t.UnixMilli()+int64(offset)*1000, u.ms)
	}
	return floorDiv(t.UnixMilli(), u.ms)
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

// exprDateTrunc returns the start of the bin a date lies in; bins are counted
// from the year 2000.
func exprDateTrunc(_ *evaluation, args []value) (value, error) {
	if isNullish(args[0]) || isNullish(args[1]) || !isAbsent(args[2]) && isNullish(args[2]) {
		return nullValue(), nil
	}
	u, name, err := unitOf(args[1], "$dateTrunc", 5439013)
	if err != nil {
		return value{}, err
	}
	size := int64(1)
	if !isAbsent(args[2]) {
		if size, err = binSize(args[2]); err != nil {
			return value{}, err
		}
		if size > 1e11 {
			return value{}, fail(5439006, "dateTrunc overflowed")
		}
	}
	start := time.Sunday
	if name == "week" {
		var ok bool
		if start, ok, err = weekStart(args[4], "$dateTrunc"); err != nil || !ok {
			return nullValue(), err
		}
	}
	if _, err := dateMillis(args[0]); err != nil {
		return value{}, fail(5439012, "$dateTrunc requires 'date' to be a date, but got %s", typeName(args[0]))
	}
	t, ok, err := localTime(args[0], args[3])
	if err != nil || !ok {
		return nullValue(), err
	}
	return dateValue(truncate(t, u, name, size, start).UnixMilli()), nil
}

func binSize(v value) (int64, error) {
	n, ok := wholeInteger(v)
	if !ok {
		return 0, fail(5439017, "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '%s' of type %s", v,
			typeName(v))
	}
	if n <= 0 {
		return 0, fail(5439018, "$dateTrunc requires 'binSize' to be greater than 0, but got value %d", n)
	}
	return n, nil
}

func truncate(t time.Time, u timeUnit, name string, size int64, start time.Weekday) time.Time {
	epoch := time.Date(2000, 1, 1, 0, 0, 0, 0, t.Location())
	if u.months > 0 {
		months := int64(t.Year()-2000)*12 + int64(t.Month()) - 1
		bin := int64(u.months) * size
		return epoch.AddDate(0, int(floorDiv(months, bin)*bin), 0)
	}
	if u.local {
		days := ordinal(t, u, "day", start) - ordinal(epoch, u, "day", start)
		first := int64(0)
		if name == "week" { // the first such day of 2000, which began on a Saturday
			first = int64((start - time.Saturday + 7) % 7)
			size *= 7
		}
		return epoch.AddDate(0, 0, int(first+floorDiv(days-first, size)*size))
	}
	bin := u.ms * size
	since := t.UnixMilli() - epoch.UnixMilli()
	return time.UnixMilli(epoch.UnixMilli() + floorDiv(since, bin)*bin)
}
