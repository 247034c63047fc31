/**
 * Capacity: how much room the clusters have, for replicas that go where there is room.
 *
 * {@link createCapacities} asks spokes through their links when a division wants to know, and keeps the answer for as long as it is
 * good; nobody is asked while nobody wants to know. {@link createRoom} holds what was divided and does not show yet, so that two
 * decisions in one second never take the same last slot.
 */
export { type Capacities, type CapacitiesOptions, createCapacities } from './capacities.ts';
export { createDescheduling, type Descheduling, type DeschedulingOptions } from './descheduling.ts';
export { createRoom, type Room, type RoomOptions } from './room.ts';
