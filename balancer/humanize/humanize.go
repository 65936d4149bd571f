// Package humanize formats bytes, counts, durations, dates and keys for humans. All output for humans
// uses this package, so that a value has the same format everywhere; JSON output has raw numbers. The
// formats of mongosh are in bindings/plaintext.
package humanize

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// number is the constraint for sizes and counts.
type number interface {
	~int | ~int32 | ~int64 | ~float64
}

// Bytes formats a size in the largest unit that is not larger than the size, with up to two decimals:
// 512 B, 20 MiB, 1.37 GiB. It rounds towards zero, so that a size below a limit never reads like the
// limit.
func Bytes[N number](n N) string {
	size, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	for len(units) > 1 && math.Abs(size) >= 1024 {
		size, units = size/1024, units[1:]
	}
	return formatDecimal(math.Trunc(size*100)/100) + " " + units[0]
}

// Rate formats a number of bytes a second: 4.2 MiB/s.
func Rate[N number](perSecond N) string { return Bytes(perSecond) + "/s" }

func formatDecimal(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// Number formats a whole number with its digits in groups of three: 1,000,000.
func Number[N number](n N) string {
	digits := strconv.FormatFloat(math.Abs(float64(n)), 'f', 0, 64)
	var b strings.Builder
	if n < 0 {
		b.WriteByte('-')
	}
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Count formats a number of things, with their noun given in the singular: 1 chunk, 20 chunks, 2
// entries.
func Count[N number](n N, noun string) string { return Number(n) + " " + Plural(n, noun) }

// Plural returns the form of a noun after a number: chunk after 1, chunks after others.
func Plural[N number](n N, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, ends := strings.CutSuffix(noun, "y"); ends && !strings.HasSuffix(stem, "e") && !strings.HasSuffix(stem, "a") {
		return stem + "ies"
	}
	if strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "x") || strings.HasSuffix(noun, "s") {
		return noun + "es"
	}
	return noun + "s"
}

// Times returns how often something happened: once, 2 times.
func Times[N number](n N) string {
	if n == 1 {
		return "once"
	}
	return Number(n) + " times"
}

// Duration formats a duration in its two largest units: 19ms, 1.5s, 42s, 2m48s, 5h30m, 3d4h. Flags and
// options that take a duration accept this format.
func Duration(d time.Duration) string {
	if d < 0 {
		return "-" + Duration(-d)
	}
	switch {
	case d < time.Millisecond:
		return "0s"
	case d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second:
		return formatDecimal(float64(d.Truncate(100*time.Millisecond))/float64(time.Second)) + "s"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return twoUnits(d, time.Minute, "m", time.Second, "s")
	case d < 48*time.Hour:
		return twoUnits(d, time.Hour, "h", time.Minute, "m")
	}
	return twoUnits(d, 24*time.Hour, "d", time.Hour, "h")
}

// twoUnits formats a duration in two units. The smaller unit is left out if its value is zero.
func twoUnits(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	text := strconv.FormatInt(int64(d/large), 10) + largeName
	if rest := d % large / small; rest > 0 {
		text += strconv.FormatInt(int64(rest), 10) + smallName
	}
	return text
}

// Time formats a time to the minute, with its time zone: 2026-03-02 14:05 UTC.
func Time(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// Percent returns a share of one: 12.5%. A share above 0 and below a tenth of a percent gives <0.1%.
func Percent(share float64) string {
	if share > 0 && share < 0.001 {
		return "<0.1%"
	}
	return formatDecimal(math.Round(share*1000)/10) + "%"
}

// UUID returns a UUID in its usual form; other bytes have no dashes.
func UUID(data []byte) string {
	h := hex.EncodeToString(data)
	if len(h) != 32 {
		return h
	}
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Texts returns names of a kind as texts.
func Texts[T ~string](names []T) []string {
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = string(name)
	}
	return texts
}

// Join joins names of a kind.
func Join[T ~string](names []T, separator string) string {
	return strings.Join(Texts(names), separator)
}

// AbbreviateCollections lists the names of collections, shortened to a count if there are many.
func AbbreviateCollections(names []string) string {
	const few = 3
	if len(names) <= few+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%d collections (%s and %d more)", len(names), strings.Join(names[:few], ", "), len(names)-few)
}

// Capitalized returns a text with an initial capital letter.
func Capitalized(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// OnOff returns "on" or "off".
func OnOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
