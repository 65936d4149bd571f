package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"shardsh/repl/ptytest"
)

// What is drawn is XML, and has all of the text in its place.
func TestDrawScreen(t *testing.T) {
	svg := drawScreen("a & b", "<c>", 20, [][]ptytest.StyledText{
		{{Column: 0, Width: 4, Text: "x < ", Style: ""}, {Column: 4, Width: 2, Text: "A─", Style: "97;44"}},
		nil,
		{{Column: 3, Width: 3, Text: "   ", Style: "30;43"}},
	})
	var texts []string
	for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := token.(xml.CharData); ok && strings.TrimSpace(string(data)) != "" {
			texts = append(texts, string(data))
		}
	}
	if len(texts) != 5 || texts[0] != "<c>" || texts[2] != "a & b" || texts[3] != "x < " || texts[4] != "A─" {
		t.Errorf("%q", texts)
	}
	for _, want := range []string{
		`<rect class="c44" x="51.6" y="34.0" width="16.8" height="19"/><text class="c97" x="51.6" y="48.0" textLength="16.8"`,
		`<rect class="c43" x="43.2" y="72.0" width="25.2" height="19"/>`,
	} {
		if !bytes.Contains(svg, []byte(want)) {
			t.Errorf("no %s in\n%s", want, svg)
		}
	}
}
