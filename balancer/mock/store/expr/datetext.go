package expr

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

func exprDateToString(_ *Evaluation, args []value.Value) (value.Value, error) {
	format := ""
	if v := args[1]; !value.IsOmittedArgument(v) {
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		if !value.IsString(v) {
			return value.Value{}, servererr.NewCode(18533,
				"$dateToString requires that 'format' be a string, found: %s with value %s", value.TypeName(v),
				v)
		}
		format = value.TextAt(v.Value)
		if err := checkDateFormat(format); err != nil {
			return value.Value{}, err
		}
	}
	if value.IsNullish(args[0]) {
		if value.IsOmittedArgument(args[3]) {
			return value.Null(), nil
		}
		return args[3], nil
	}
	t, ok, err := localTime(args[0], args[2])
	if err != nil || !ok {
		return value.Null(), err
	}
	if value.IsOmittedArgument(args[1]) {
		format = "%Y-%m-%dT%H:%M:%S.%L"
		if t.Location() == time.UTC {
			format += "Z"
		}
	}
	if err := checkYear(t); err != nil {
		return value.Value{}, err
	}
	return value.String(formatDate(t, format)), nil
}

// checkYear rejects years that do not have four digits.
func checkYear(t time.Time) error {
	if year := t.Year(); year < 0 || year > 9999 {
		return servererr.NewCode(18537,
			"Could not convert date to string: date component was outside the supported range of "+
				"0-9999: %d",
			year)
	}
	return nil
}

func checkDateFormat(format string) error {
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		if i++; i == len(format) {
			return servererr.NewCode(18535, "Unmatched '%%' at end of format string")
		}
		if !strings.ContainsRune("dGHjLmMSuUVwYzZ%bB", rune(format[i])) {
			return servererr.NewCode(18536, "Invalid format character '%%%c' in format string", format[i])
		}
	}
	return nil
}

func formatDate(t time.Time, format string) string {
	var out strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			out.WriteByte(format[i])
			continue
		}
		i++
		out.WriteString(formatDatePart(t, format[i]))
	}
	return out.String()
}

func formatDatePart(t time.Time, c byte) string {
	_, offset := t.Zone()
	year, week := t.ISOWeek()
	switch c {
	case 'd':
		return fmt.Sprintf("%02d", t.Day())
	case 'G':
		return fmt.Sprintf("%04d", year)
	case 'H':
		return fmt.Sprintf("%02d", t.Hour())
	case 'j':
		return fmt.Sprintf("%03d", t.YearDay())
	case 'L':
		return fmt.Sprintf("%03d", t.Nanosecond()/1e6)
	case 'm':
		return fmt.Sprintf("%02d", t.Month())
	case 'M':
		return fmt.Sprintf("%02d", t.Minute())
	case 'S':
		return fmt.Sprintf("%02d", t.Second())
	case 'u':
		return strconv.Itoa(isoWeekday(t))
	case 'U':
		return fmt.Sprintf("%02d", weekOfYear(t))
	case 'V':
		return fmt.Sprintf("%02d", week)
	case 'w':
		return strconv.Itoa(int(t.Weekday()) + 1)
	case 'Y':
		return fmt.Sprintf("%04d", t.Year())
	case 'b':
		return t.Format("Jan")
	case 'B':
		return t.Format("January")
	case 'z':
		return t.Format("-0700")
	case 'Z':
		return fmt.Sprintf("%+04d", offset/60)
	}
	return "%"
}

func exprDateFromString(_ *Evaluation, args []value.Value) (value.Value, error) {
	text, format, zone, onError, onNull := args[0], args[1], args[2], args[3], args[4]
	orError := func(err error) (value.Value, error) {
		if mongoerr.Is(err, conversionFailure) && !value.IsOmittedArgument(onError) {
			return onError, nil
		}
		return value.Value{}, err
	}
	loc, ok, err := parseZoneArg(zone)
	if err != nil {
		return value.Value{}, err
	}
	if value.IsNullish(text) {
		if value.IsOmittedArgument(onNull) {
			return value.Null(), nil
		}
		return onNull, nil
	}
	if !ok || !value.IsOmittedArgument(format) && value.IsNullish(format) {
		return value.Null(), nil
	}
	if !value.IsString(text) {
		_, err := conversionError("$dateFromString requires that 'dateString' be a string, found: %s with value %s",
			value.TypeName(text), text)
		return orError(err)
	}
	var t time.Time
	if value.IsOmittedArgument(format) {
		t, err = parseDate(value.TextAt(text.Value), loc)
	} else {
		if !value.IsString(format) {
			return value.Value{}, servererr.NewCode(40684,
				"$dateFromString requires that 'format' be a string, found: %s with value %s",
				value.TypeName(format), format)
		}
		if err := checkDateFormat(value.TextAt(format.Value)); err != nil {
			return value.Value{}, err
		}
		t, err = parseDateFormat(value.TextAt(text.Value), value.TextAt(format.Value), loc)
	}
	if err != nil {
		return orError(err)
	}
	return value.Date(t.UnixMilli()), nil
}

// dateLayouts are the layouts for parsing a date without a format.
var dateLayouts = func() []string {
	var all []string
	for _, day := range []string{"2006-01-02", "2006/01/02", "20060102"} {
		all = append(all, day)
		for _, sep := range []string{"T", " "} {
			for _, clock := range []string{"15", "15:04", "15:04:05", "15:04:05.999999999", "150405"} {
				for _, zone := range []string{"", "Z07:00", " Z07:00", "-0700", " -0700", "-07", " MST"} {
					all = append(all, day+sep+clock+zone)
				}
			}
		}
	}
	return append(all, "2006-01", "January 2, 2006", "Jan 2, 2006", "2 January 2006", "2 Jan 2006",
		"Mon, 02 Jan 2006 15:04:05 MST", "Mon, 02 Jan 2006 15:04:05 -0700")
}()

// parseDate parses a date in ISO 8601 or a few other simple formats.
func parseDate(text string, loc *time.Location) (time.Time, error) {
	for _, layout := range dateLayouts {
		t, err := time.ParseInLocation(layout, text, loc)
		if err != nil {
			continue
		}
		if strings.HasSuffix(layout, "MST") && t.Location() != time.UTC && t.Location() != loc {
			continue // otherwise an unknown zone name would count as UTC
		}
		return t, nil
	}
	_, err := conversionError("Error parsing date string '%s'", text)
	return time.Time{}, err
}

// dateParser holds the components of a date that have been parsed so far.
type dateParser struct {
	text                                        string
	year, month, day, hour, minute, second, ms  int
	isoYear, isoWeek, isoDay, dayOfYear, offset int
	hasZone                                     bool
}

// parseDateFormat parses a date by a $dateToString format.
func parseDateFormat(text, format string, loc *time.Location) (time.Time, error) {
	r := &dateParser{text: text, month: 1, day: 1, year: -1, isoYear: -1, isoWeek: 1, isoDay: 1}
	failed := func() (time.Time, error) {
		_, err := conversionError("Error parsing date string '%s'", text)
		return time.Time{}, err
	}
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			if r.text == "" || r.text[0] != format[i] {
				return failed()
			}
			r.text = r.text[1:]
			continue
		}
		i++
		if !r.readPart(format[i]) {
			return failed()
		}
	}
	if r.text != "" || r.year < 0 && r.isoYear < 0 {
		return failed()
	}
	if r.month < 1 || r.month > 12 || r.day < 1 || r.day > 31 || r.hour > 24 || r.minute > 59 || r.second > 59 {
		return failed()
	}
	if r.hasZone {
		loc = time.FixedZone("", r.offset)
	}
	switch {
	case r.isoYear >= 0:
		start := time.Date(r.isoYear, 1, 4, 0, 0, 0, 0, loc)
		r.year, r.month, r.day = r.isoYear, 1, 4+(r.isoWeek-1)*7+r.isoDay-isoWeekday(start)
	case r.dayOfYear > 0:
		r.month, r.day = 1, r.dayOfYear
	default:
		if day := time.Date(r.year, time.Month(r.month), r.day, 0, 0, 0, 0, time.UTC); day.Day() != r.day {
			return failed() // such as February 31
		}
	}
	return time.Date(r.year, time.Month(r.month), r.day, r.hour, r.minute, r.second, r.ms*1e6, loc), nil
}

// readPart parses one component and reports whether the text contains it.
func (r *dateParser) readPart(c byte) bool {
	if into, width := r.numberTarget(c); into != nil {
		n := 0
		for n < width && n < len(r.text) && r.text[n] >= '0' && r.text[n] <= '9' {
			n++
		}
		v, err := strconv.Atoi(r.text[:n])
		*into, r.text = v, r.text[n:]
		return err == nil
	}
	switch c {
	case '%':
		ok := strings.HasPrefix(r.text, "%")
		r.text = strings.TrimPrefix(r.text, "%")
		return ok
	case 'b', 'B':
		for m := time.January; m <= time.December; m++ {
			name := m.String()
			if c == 'b' {
				name = name[:3]
			}
			if len(r.text) >= len(name) && strings.EqualFold(r.text[:len(name)], name) {
				r.month, r.text = int(m), r.text[len(name):]
				return true
			}
		}
		return false
	case 'z':
		for _, n := range []int{6, 5, 3} {
			if len(r.text) < n {
				continue
			}
			if offset, ok := parseZoneOffset(r.text[:n]); ok {
				r.offset, r.hasZone, r.text = offset, true, r.text[n:]
				return true
			}
		}
		rest, ok := strings.CutPrefix(r.text, "Z")
		r.text, r.hasZone = rest, ok
		return ok
	case 'Z':
		n := 1
		for n < len(r.text) && r.text[n] >= '0' && r.text[n] <= '9' {
			n++
		}
		if n > len(r.text) {
			return false
		}
		v, err := strconv.Atoi(r.text[:n])
		r.offset, r.hasZone, r.text = v*60, true, r.text[n:]
		return err == nil
	}
	return false
}

func (r *dateParser) numberTarget(c byte) (into *int, width int) {
	switch c {
	case 'Y':
		return &r.year, 4
	case 'm':
		return &r.month, 2
	case 'd':
		return &r.day, 2
	case 'H':
		return &r.hour, 2
	case 'M':
		return &r.minute, 2
	case 'S':
		return &r.second, 2
	case 'L':
		return &r.ms, 3
	case 'G':
		return &r.isoYear, 4
	case 'V':
		return &r.isoWeek, 2
	case 'u':
		return &r.isoDay, 1
	case 'j':
		return &r.dayOfYear, 3
	}
	return nil, 0
}
