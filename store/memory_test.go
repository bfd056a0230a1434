package store_test

import (
	"testing"
	"time"

	"faultline/store/storetest"
	"faultline/workflow"
)

func TestMemoryIsADurable(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Open {
		m := workflow.NewMemory()
		return func(_ *testing.T, now func() time.Time) workflow.Durable {
			m.Now = now
			return m
		}
	})
}
