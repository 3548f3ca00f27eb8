/** Texts of the schedules pages. */
export const schedules = {};
