! Jacobi in a plate: a hundred steps more at each start, from state.h5, on any number of nodes.
module kernels
   use tacit
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int64, real64
   implicit none
   integer, parameter :: n1 = 40, n2 = 50
contains
   subroutine start(k) bind(c)
      type(c_ptr), value :: k
      real(real64), pointer :: u(:, :)
      integer(int64) :: lower(3), upper(3), i, j
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, u)
      do j = lower(2), upper(2)
         do i = lower(1), upper(1)
            u(i, j) = merge(100d0, 0d0, j == 1)
         end do
      end do
   end subroutine
   subroutine step(k) bind(c)
      type(c_ptr), value :: k
      real(real64), pointer :: u(:, :), v(:, :), change
      integer(int64) :: lower(3), upper(3), i, j
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, u)
      call tacit_view(k, 2, v)
      call tacit_view(k, 3, change)
      do j = lower(2), upper(2)
         do i = lower(1), upper(1)
            if (i == 1 .or. j == 1 .or. i == n1 .or. j == n2) then
               v(i, j) = u(i, j)
            else
               v(i, j) = 0.25d0*(u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
            end if
            change = max(change, abs(v(i, j) - u(i, j)))
         end do
      end do
   end subroutine
end module

program jacobi
   use kernels
   use tacit_io
   implicit none
   type(tacit_context) :: ctx
   type(tacit_buffer) :: u(0:1), change
   type(tacit_file_facts) :: facts
   real(real64) :: plate(n1, n2), largest
   integer :: t, first
   logical :: found
   call tacit_init(ctx)
   call tacit_buffer_create(ctx, u(0), shape(plate), storage_size(plate)/8, 'even')
   call tacit_buffer_create(ctx, u(1), shape(plate), storage_size(plate)/8, 'odd')
   call tacit_buffer_create(ctx, change, [integer ::], storage_size(largest)/8, 'change')
   call tacit_file_look(ctx, 'state.h5', facts)
   first = 0
   if (facts%found) then
      call tacit_file_get_attribute(ctx, 'state.h5', 'step', first, found)
      call tacit_buffer_read(ctx, u(0), 'state.h5', TACIT_DOUBLE)
   else
      call tacit_submit(ctx, 'start', shape(plate), start, [tacit_write(u(0), one_to_one())])
   end if
   do t = 0, 99
      call tacit_submit(ctx, 'step', shape(plate), step, [tacit_read(u(mod(t, 2)), star([1, 1])), &
                        tacit_write(u(mod(t + 1, 2)), one_to_one()), tacit_reduce(change, TACIT_OP_MAX, TACIT_DOUBLE)])
   end do
   call tacit_buffer_write(ctx, u(0), 'state.h5', TACIT_DOUBLE, attributes=[tacit_attribute_of('step', first + 100)])
   call tacit_fence_read(ctx, u(0), plate)
   call tacit_fence_read(ctx, change, largest)
   if (tacit_node(ctx) == 0) print '(i0,a,f0.4,a,f10.8)', first + 100, ' steps, sum ', sum(plate), ', change ', largest
   call tacit_finalize(ctx)
end program
