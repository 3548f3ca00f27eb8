const emergencyNumbers = new Set(['112', '911', '999', '110', '1911']);

/** Whether somebody in distress calls a number; it has no separators. */
export const isEmergencyNumber = (number: string): boolean =>
  emergencyNumbers.has(number.replace(/^(?:\+|00(?=[1-9]))/, ''));
