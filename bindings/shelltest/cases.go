package shelltest

import (
	"strings"
	"testing"
)

// Case is a call, the command that it sends and the text that it shows. Empty texts are not compared.
type Case = struct{ Call, Sends, Shows string }

// Check runs each call in a new shell.
func Check(t *testing.T, c *TestShell, cases []Case) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.Call, func(t *testing.T) {
			c.Renew(t)
			c.TakeCommands()
			shows, _ := c.Show(tc.Call)
			if sends := strings.Join(c.TakeCommands(), "\n"); tc.Sends != "" && sends != tc.Sends {
				t.Errorf("sent\n%s\nwant\n%s", sends, tc.Sends)
			}
			if tc.Shows != "" && shows != tc.Shows {
				t.Errorf("shows\n%s\nwant\n%s", shows, tc.Shows)
			}
		})
	}
}
