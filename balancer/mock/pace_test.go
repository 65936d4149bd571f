package mock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"shardsh/balancer/mock"
)

func TestVirtualTimeWithAPaceGoesByOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
		c, err := mock.New(mock.Config{Start: start, Pace: 60})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if passed := c.Clock().Now().Sub(start).Round(time.Second); passed != 10*time.Minute {
			t.Errorf("ten seconds were %v, want ten minutes", passed)
		}
		if rounds := c.BalancerStatus().Rounds; rounds < 55 {
			t.Errorf("%d rounds in ten minutes, want one every ten seconds", rounds)
		}
	})
}
