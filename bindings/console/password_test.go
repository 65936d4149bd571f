package console

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
)

func TestPasswordsTyped(t *testing.T) {
	for _, tt := range []struct {
		keys, want, shown string
		err               error
	}{
		{"abc\r", "abc", "***", nil},
		{"abx\x7fc\n", "abc", "***\b \b*", nil},
		{"größe\r", "größe", "*****", nil},
		{"ö\x7f\x7fx\r", "x", "*\b \b*", nil},
		{"ab\x15c\r", "c", "**\b \b\b \b*", nil},
		{"\x04", "", "", errNoPassword},
		{"a\x04b\r", "ab", "**", nil},
		{"a\x1b[A\r", "a[A", "***", nil},
		{"ab\x03", "", "**", errInterruptKey},
		{"ab", "", "**", errNoPassword},
	} {
		var echo bytes.Buffer
		got, err := readHiddenLine(io.MultiReader(strings.NewReader(tt.keys)), &echo)
		if got != tt.want || echo.String() != tt.shown || !errors.Is(err, tt.err) {
			t.Errorf("%q gives %q, %v and shows %q", tt.keys, got, err, echo.String())
		}
	}
}
