package mockoptions

import (
	"strconv"
	"strings"

	"shardsh/cmd/shardsh/cmdline"
)

// maxPace is the highest pace of the mock's time: a day in a second.
const maxPace = 86400

// ParseMockTime parses --mock-time: real, virtual, or virtual with a pace such as 60x, at which the time
// also advances by itself. An empty text selects the default.
func ParseMockTime(text string) (pace float64, err error) {
	if text == "" || text == "real" || text == "virtual" {
		return 0, nil
	}
	number, isPace := strings.CutSuffix(text, "x")
	pace, parseErr := strconv.ParseFloat(number, 64)
	if !isPace || parseErr != nil || !(pace > 0 && pace <= maxPace) {
		return 0, cmdline.Usagef("--mock-time takes real, virtual, or a pace such as 60x (up to %dx), not %q", maxPace, text)
	}
	return pace, nil
}

// MockTimeText returns the banner's description of the mock's time.
func MockTimeText(real bool, text string) string {
	switch {
	case real:
		return "real"
	case strings.HasSuffix(text, "x"):
		return text
	}
	return "virtual"
}
