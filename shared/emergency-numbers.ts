const emergencyNumbers = new Set(['112', '911', '999', '110', '1911']);

/** Whether a number without separators is an emergency number. */
export const isEmergencyNumber = (number: string): boolean =>
  emergencyNumbers.has(number.replace(/^(?:\+|00(?=[1-9]))/, ''));
