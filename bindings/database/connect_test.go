package database

import "testing"

// The mode of watching servers is what the connection string says, and polling
// without.
func TestServerMonitoringMode(t *testing.T) {
	h := &Host{}
	for uri, want := range map[string]string{"h": "poll", "h/?serverMonitoringMode=stream": "stream"} {
		if got := *h.optionsFromURI(uri).ServerMonitoringMode; got != want {
			t.Errorf("%s: %s, want %s", uri, got, want)
		}
	}
}
