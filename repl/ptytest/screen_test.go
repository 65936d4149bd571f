package ptytest

import (
	"reflect"
	"testing"
)

func TestScreen(t *testing.T) {
	tests := []struct{ name, printed, want string }{
		{"lines", "ab\r\ncd", "ab\ncd▮"},
		{"a long line wraps", "abcdefghij", "abcdefgh\nij▮"},
		{"at the right edge the cursor waits", "abcdefgh", "abcdefgh▮"},
		{"the last row scrolls", "1\r\n2\r\n3\r\n4\r\n5", "2\n3\n4\n5▮"},
		{"a line redrawn shorter", "> abc\x1b[3Gx\x1b[0K", "> x▮"},
		{"the cursor inside", "abc\x1b[2G", "a▮bc"},
		{"up and over", "abc\r\nd\x1b[1A\rX", "X▮bc\nd"},
		{"cleared", "abc\r\nd\x1b[H\x1b[2Jx", "x▮"},
		{"wide characters", "日本\b\bx", "日x▮"},
		{"modes and colours have no place", "\x1b[?2004h\x1b[33m1\x1b[39m", "1▮"},
	}
	for _, tt := range tests {
		for _, cut := range []int{0, 1, len(tt.printed) / 2} {
			s := NewScreen(4, 8)
			s.WriteString(tt.printed[:cut])
			s.WriteString(tt.printed[cut:])
			if got := s.String(); got != tt.want || s.UnknownSequences != nil {
				t.Errorf("%s: %q, want %q (%q)", tt.name, got, tt.want, s.UnknownSequences)
			}
		}
	}
}

func TestStyledScreen(t *testing.T) {
	s := NewScreen(2, 20)
	s.WriteString("a: \x1b[33m1\x1b[39m, \x1b[1;31mb\x1b[0m!")
	if got, want := s.Styled(), "a: {33}1{}, {1;31}b{}!▮"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRuns(t *testing.T) {
	s := NewScreen(4, 20)
	s.WriteString("a b \x1b[97;44mA──\x1b[0m c\r\n\r\n日\x1b[1mx")
	want := [][]StyledText{{{0, 4, "a b ", ""}, {4, 3, "A──", "97;44"}, {7, 2, " c", ""}}, nil, {{0, 2, "日", ""}, {2, 1, "x", "1"}}}
	if got := s.StyledTexts(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
