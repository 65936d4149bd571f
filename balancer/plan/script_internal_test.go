package plan

import "testing"

func TestCommentText(t *testing.T) {
	for text, want := range map[string]string{
		`zone "EU"`:  `zone "EU"`,
		"a\nb":       `a\nb`,
		`"`:          `"`,
		"shop.books": "shop.books",
	} {
		if got := commentText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
