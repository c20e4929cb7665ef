package sim

// draw returns a random number that depends on the seed, the place (entity) and
// the packet: its queue pair, sequence number, kind and how often the queue
// pair has gone back before it. Nothing else, so neither the order of events
// nor other traffic changes it.
func (s *Sim) draw(entity uint64, pk *packet) uint64 {
	x := scramble(s.seed ^ entity) // scrambled, for the flow holds the seed as well
	x = scramble(x ^ uint64(s.routes[pk.route()].flow))
	return scramble(x ^ uint64(pk.PSN) ^ uint64(pk.attempt)<<24 ^ uint64(pk.kind)<<40)
}

// scramble is the output function of SplitMix64 (Steele, Lea and Flood 2014).
func scramble(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// hashName hashes the name of an entity.
func hashName(name string) uint64 {
	h := uint64(len(name))
	for i := 0; i < len(name); i++ {
		h = scramble(h ^ uint64(name[i]))
	}
	return h
}
