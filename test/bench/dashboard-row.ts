/** A measured value and its goal. */
export interface Row extends Record<string, string> {
  what: string;
  value: string;
  goal: string;
}

export const row = (what: string, value: string, goal = ''): Row => ({ what, value, goal });
