package simulated

import (
	"os"
	"strconv"
	"testing"

	"weir/internal/cause"
	"weir/internal/twin/fault"
)

func TestKinds(t *testing.T) {
	trials, err := strconv.Atoi(os.Getenv("WEIR_TRIALS"))
	if err != nil {
		t.Skip("WEIR_TRIALS=N runs N trials a fault")
	}
	catalogue := load(t)
	for _, k := range fault.Table() {
		if only := os.Getenv("WEIR_FAULT"); only != "" && only != k.ID {
			continue
		}
		row, err := Kinds(t.Context(), k.ID, trials, 1, catalogue, func(s string) { t.Log(s) })
		if err != nil {
			t.Error(err)
		}
		t.Logf("%-26s first %d named %d place %d of %d, in range %d, instead %v", row.ID, row.First, row.Named, row.Place, row.Trials, row.InRange, row.Instead)
	}
}

func TestHealthy(t *testing.T) {
	trials, err := strconv.Atoi(os.Getenv("WEIR_TRIALS"))
	if err != nil {
		t.Skip("WEIR_TRIALS=N runs N trials")
	}
	wrong, err := Healthy(t.Context(), trials, 1000, load(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}

func load(t *testing.T) *cause.Catalogue {
	t.Helper()
	c, err := cause.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}
