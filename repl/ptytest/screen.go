package ptytest

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Screen interprets the output for a terminal, as far as line editors and coloured text need it: cursor
// movement, erasing, scrolling, wrapping, colours.
type Screen struct {
	rows, columns int
	cells         [][]cell
	row, column   int // of the cursor; column equals columns if the next character wraps
	style         string
	pending       string // an incomplete sequence or character
	// UnknownSequences holds the sequences that were not understood.
	UnknownSequences []string
}

// cell is one position; the second cell of a wide character is empty.
type cell struct {
	text, style string
}

var blank = cell{text: " "}

// NewScreen returns an empty screen.
func NewScreen(rows, columns int) *Screen {
	s := &Screen{rows: rows, columns: columns}
	for range rows {
		s.cells = append(s.cells, s.emptyRow())
	}
	return s
}

func (s *Screen) emptyRow() []cell {
	row := make([]cell, s.columns)
	for i := range row {
		row[i] = blank
	}
	return row
}

// WriteString interprets the output of a program.
func (s *Screen) WriteString(text string) {
	text = s.pending + text
	s.pending = ""
	for text != "" {
		n := s.consume(text)
		if n == 0 {
			s.pending = text
			return
		}
		text = text[n:]
	}
}

// consume interprets the first character or sequence, and returns its length: 0 when it is incomplete.
func (s *Screen) consume(text string) int {
	switch text[0] {
	case '\r':
		s.column = 0
	case '\n':
		s.lineFeed()
	case '\b':
		s.column = max(0, s.column-1)
	case '\t':
		s.column = min(s.columns-1, s.column/8*8+8)
	case '\a':
	case 0x1b:
		return s.escapeSequence(text)
	default:
		if !utf8.FullRuneInString(text) {
			return 0
		}
		r, n := utf8.DecodeRuneInString(text)
		s.put(r)
		return n
	}
	return 1
}

func (s *Screen) lineFeed() {
	if s.row < s.rows-1 {
		s.row++
		return
	}
	s.cells = append(s.cells[1:], s.emptyRow())
}

func (s *Screen) put(r rune) {
	wide := runeWidth(r)
	if wide == 0 { // combines with the previous character
		if s.column > 0 && !unicode.Is(unicode.Variation_Selector, r) { // which no font shows
			s.cells[s.row][s.column-1].text += string(r)
		}
		return
	}
	if s.column+wide > s.columns {
		s.column = 0
		s.lineFeed()
	}
	s.cells[s.row][s.column] = cell{string(r), s.style}
	for i := 1; i < wide; i++ {
		s.cells[s.row][s.column+i] = cell{style: s.style}
	}
	s.column += wide
}

// runeWidth returns how many cells a character takes.
func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// escapeSequence interprets an escape sequence.
func (s *Screen) escapeSequence(text string) int {
	if len(text) < 2 {
		return 0
	}
	if text[1] != '[' {
		s.UnknownSequences = append(s.UnknownSequences, text[:2])
		return 2
	}
	end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		return 0
	}
	s.control(text[2+end], text[2:2+end])
	return end + 3
}

func (s *Screen) control(command byte, arguments string) {
	first, rest, _ := strings.Cut(arguments, ";")
	n, _ := strconv.Atoi(first)
	m, _ := strconv.Atoi(rest)
	switch command {
	case 'A':
		s.row = max(0, s.row-max(n, 1))
	case 'B':
		s.row = min(s.rows-1, s.row+max(n, 1))
	case 'C':
		s.column = min(s.columns-1, s.column+max(n, 1))
	case 'D':
		s.column = max(0, s.column-max(n, 1))
	case 'G':
		s.column = min(s.columns, max(n, 1)) - 1
	case 'H':
		s.row, s.column = min(s.rows, max(n, 1))-1, min(s.columns, max(m, 1))-1
	case 'J', 'K':
		s.erase(command == 'J', n)
	case 'm':
		s.setStyle(arguments)
	case 'h', 'l': // modes, such as bracketed paste
	default:
		s.UnknownSequences = append(s.UnknownSequences, fmt.Sprintf("\x1b[%s%c", arguments, command))
	}
}

// erase erases the line or the whole screen: after the cursor, before it, or completely.
func (s *Screen) erase(screen bool, how int) {
	for r := range s.rows {
		for c := range s.columns {
			from := r == s.row && c >= s.column || screen && r > s.row
			upTo := r == s.row && c <= s.column || screen && r < s.row
			if how == 0 && from || how == 1 && upTo || how == 2 && (screen || r == s.row) {
				s.cells[r][c] = blank
			}
		}
	}
}

// styleResets are the codes that end a style.
var styleResets = map[string]bool{"": true, "0": true, "22": true, "39": true, "49": true}

func (s *Screen) setStyle(arguments string) {
	s.style = arguments
	if styleResets[arguments] {
		s.style = ""
	}
}

// String returns the text, with the cursor as ▮, without empty cells and lines at the ends.
func (s *Screen) String() string { return s.draw(false) }

// Styled works like String, with markers where colours change: {32} before green text, {} where it
// ends.
func (s *Screen) Styled() string { return s.draw(true) }

// StyledText is a text in one style, in consecutive cells of a row.
type StyledText struct {
	Column, Width int
	Text, Style   string
}

// StyledTexts returns the texts in each row, down to the last row that is not empty. Empty cells are left out,
// except inside of a text.
func (s *Screen) StyledTexts() (rows [][]StyledText) {
	for _, row := range s.cells {
		rows = append(rows, runs(row))
	}
	for len(rows) > 0 && len(rows[len(rows)-1]) == 0 {
		rows = rows[:len(rows)-1]
	}
	return rows
}

func runs(row []cell) (list []StyledText) {
	end := len(row)
	for end > 0 && row[end-1] == blank {
		end--
	}
	for i, cell := range row[:end] {
		if len(list) == 0 || list[len(list)-1].Style != cell.style {
			list = append(list, StyledText{Column: i, Style: cell.style})
		}
		last := &list[len(list)-1]
		last.Text += cell.text
		last.Width++
	}
	return list
}

func (s *Screen) draw(styled bool) string {
	var b strings.Builder
	for r, row := range s.cells {
		var line strings.Builder
		style := ""
		for c, cell := range append(row, blank) {
			if styled && cell.style != style {
				style = cell.style
				line.WriteString("{" + style + "}")
			}
			if r == s.row && c == s.column {
				line.WriteString("▮")
				if cell == blank {
					continue
				}
			}
			line.WriteString(cell.text)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}
